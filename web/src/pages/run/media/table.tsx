/** A logged table: its cells are text, numbers stand right. */
import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useRef } from "react";
import { shortNumber } from "@/base/numbers";
import classes from "@/pages/run/media/media.module.css";
import { type MediaItem, type TableContent, tableQuery } from "@/state/media";
import { Answer } from "@/widgets/answer";
import { useSeen } from "@/widgets/seen";
import { VirtualRows } from "@/widgets/virtual_rows";

const CELL_LETTERS = 300;
/** Numbers are short, and texts are what is read. */
const SHARES = { number: 1, text: 2 } as const;
/** In pixels. */
const SHARE_MIN = 72;

export function MediaTable(props: { run: string; item: MediaItem }): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const isSeen = useSeen(host);
  // Tables out of sight are not asked for: a run may have hundreds of them.
  const table = useQuery({ ...tableQuery(props.run, props.item.id), enabled: isSeen });
  return (
    <div ref={host}>
      <Answer found={table} waiting={<Skeleton height={160} />}>
        {(known) => <TableRows name={props.item.key} table={known} />}
      </Answer>
    </div>
  );
}

function TableRows(props: { name: string; table: TableContent }): ReactElement {
  const { columns, data } = props.table;
  const isNumeric = columns.map((_, column) => typeof data[0]?.[column] === "number");
  const shares = isNumeric.map((isNumber) => SHARES[isNumber ? "number" : "text"]);
  const grid = {
    gridTemplateColumns: shares.map((share) => `minmax(0, ${share}fr)`).join(" "),
    minWidth: shares.reduce((sum: number, share) => sum + share, 0) * SHARE_MIN,
  };
  return (
    <VirtualRows
      label={`Table ${props.name}`}
      className={classes.table}
      count={data.length}
      rowHeight={28}
      rowKey={(at) => at}
      head={
        <div role="row" className={classes.head} style={grid}>
          {columns.map((name, at) => (
            <span
              key={at}
              role="columnheader"
              className={
                isNumeric[at] === true ? `${classes.cell} ${classes.number}` : classes.cell
              }
              title={name}
            >
              {name}
            </span>
          ))}
        </div>
      }
    >
      {(at) => (
        <div role="row" className={classes.cells} style={grid}>
          {columns.map((_, column) => (
            <Cell key={column} value={data[at]?.[column]} />
          ))}
        </div>
      )}
    </VirtualRows>
  );
}

function Cell(props: { value: unknown }): ReactElement {
  const { value } = props;
  const isNumber = typeof value === "number";
  const whole =
    typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
  return (
    <span
      role="cell"
      className={isNumber ? `${classes.cell} ${classes.number}` : classes.cell}
      title={whole.slice(0, CELL_LETTERS)}
    >
      {isNumber ? shortNumber(value) : whole.slice(0, CELL_LETTERS)}
    </span>
  );
}
