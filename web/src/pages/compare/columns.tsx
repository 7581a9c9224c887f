/** The tables that all parts of a comparison share: a column for each run, in one order and width. */
import { UnstyledButton, useComputedColorScheme, VisuallyHidden } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import {
  createContext,
  useContext,
  useEffect,
  useRef,
  type CSSProperties,
  type ReactElement,
  type ReactNode,
} from "react";
import { lineColour } from "@/base/colours";
import type { RunRow } from "@/pages/compare/data";
import classes from "@/pages/compare/compare.module.css";
import { namePieces, wholeName, type CalledRun } from "@/pages/compare/names";
import { useScrollGroup } from "@/pages/compare/scrolling";
import { MoreRight, shadedFrame } from "@/widgets/more_right";

export interface Column extends CalledRun {
  run: RunRow;
  /** The number of the colour that the run has during the visit. */
  colour: number;
}

const Columns = createContext<readonly Column[]>([]);
export const ColumnsProvider = Columns.Provider;

export function useColumns(): readonly Column[] {
  return useContext(Columns);
}

/** The mark of a run's colour. */
function Swatch(props: { colour: number }): ReactElement {
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  return (
    <span
      aria-hidden="true"
      className={classes.swatch}
      style={{ background: lineColour(props.colour, scheme) }}
    />
  );
}

/** The name of a run where it has little room: what tells it from others is never cut. */
export function RunLabel(props: { column: Column }): ReactElement {
  const { name, ending, colour } = props.column;
  return (
    <span className={classes.runName} title={wholeName(props.column)}>
      <Swatch colour={colour} />
      <NameParts name={name} ending={ending} />
    </span>
  );
}

/** The same as a link to the run. */
export function RunName(props: { column: Column }): ReactElement {
  const { run, name, ending, colour } = props.column;
  return (
    <span className={classes.runName}>
      <Swatch colour={colour} />
      <Link
        to="/runs/$run"
        params={{ run: run.id }}
        className={classes.runLink}
        title={wholeName(props.column)}
        aria-label={wholeName(props.column)}
      >
        <NameParts name={name} ending={ending} />
      </Link>
    </span>
  );
}

function NameParts(props: CalledRun): ReactElement {
  const { head, tail } = namePieces(props.name);
  return (
    <>
      <span className={classes.named}>
        <span className={classes.cut}>{head}</span>
        {tail !== "" && <span className={classes.tail}>{tail}</span>}
      </span>
      {props.ending !== "" && <span className={classes.ending}>…{props.ending}</span>}
    </>
  );
}

/** The variable that the widths of tables and heads are made from. */
function widthOf(columns: readonly Column[]): CSSProperties {
  return { "--runs": columns.length } as CSSProperties;
}

/** The runs above their columns, in sight wherever the page is scrolled to. */
export function RunHeads(props: { onRemove: (run: string) => void }): ReactElement {
  const { onRemove } = props;
  const columns = useColumns();
  const group = useScrollGroup();
  return (
    <div className={classes.heads} ref={group?.join}>
      <div className={classes.headRow} style={widthOf(columns)}>
        <div className={classes.corner} />
        <div className={classes.headList} role="list" aria-label="Runs that are compared">
          {columns.map((column) => (
            <div key={column.run.id} role="listitem" className={classes.head}>
              <RunName column={column} />
              <UnstyledButton
                className={classes.remove}
                aria-label={`Take ${wholeName(column)} out of the comparison`}
                title="Take out of the comparison"
                onClick={() => {
                  onRemove(column.run.id);
                }}
              >
                ×
              </UnstyledButton>
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

/** A table below the heads: its own are for those alone who do not see where a cell stands. */
export function CompareTable(props: {
  label: string;
  /** What the rows are. */
  corner: string;
  children: ReactNode;
}): ReactElement {
  const { label, corner, children } = props;
  const columns = useColumns();
  const group = useScrollGroup();
  const scroller = useRef<HTMLDivElement>(null);
  useEffect(() => group?.join(scroller.current), [group]);
  return (
    <div className={shadedFrame}>
      <div className={classes.scroll} ref={scroller} tabIndex={0} role="region" aria-label={label}>
        <table className={classes.table} style={widthOf(columns)}>
          <colgroup>
            <col className={classes.keys} />
            <col span={columns.length} />
          </colgroup>
          <thead>
            <tr>
              <th scope="col" className={classes.heard}>
                <VisuallyHidden>{corner}</VisuallyHidden>
              </th>
              {columns.map((column) => (
                <th key={column.run.id} scope="col" className={classes.heard}>
                  <VisuallyHidden>{wholeName(column)}</VisuallyHidden>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      </div>
      <MoreRight scroller={scroller} />
    </div>
  );
}
