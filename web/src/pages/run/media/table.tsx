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
const COLUMN_WIDTH_MIN = 96;

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
  const grid = {
    gridTemplateColumns: `repeat(${columns.length}, minmax(0, 1fr))`,
    minWidth: columns.length * COLUMN_WIDTH_MIN,
  };
  const isNumeric = columns.map((_, column) => typeof data[0]?.[column] === "number");
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
