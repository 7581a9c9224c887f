/** The table that all parts of a comparison share: a column for each run, in one order and width. */
import { UnstyledButton, useComputedColorScheme } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { createContext, useContext, type ReactElement, type ReactNode } from "react";
import { lineColour } from "@/base/colours";
import type { RunRow } from "@/pages/compare/data";
import classes from "@/pages/compare/compare.module.css";

export interface Column {
  run: RunRow;
  /** The number of the colour that the run has during the visit. */
  colour: number;
}

const Columns = createContext<readonly Column[]>([]);
export const ColumnsProvider = Columns.Provider;

export function useColumns(): readonly Column[] {
  return useContext(Columns);
}

/** What a run is called; one without a name by its id. */
export function nameOf(run: Pick<RunRow, "id" | "name">): string {
  return run.name === "" ? run.id : run.name;
}

/** The mark of a run's colour. */
export function Swatch(props: { colour: number }): ReactElement {
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  return (
    <span
      aria-hidden="true"
      className={classes.swatch}
      style={{ background: lineColour(props.colour, scheme) }}
    />
  );
}

export function RunName(props: { column: Column }): ReactElement {
  const { run, colour } = props.column;
  return (
    <span className={classes.runName}>
      <Swatch colour={colour} />
      <Link to="/runs/$run" params={{ run: run.id }} title={nameOf(run)}>
        {nameOf(run)}
      </Link>
    </span>
  );
}

export function CompareTable(props: {
  label: string;
  /** What stands above the keys. */
  corner: ReactNode;
  children: ReactNode;
  /** Whether the cells are numbers: heads stand above them. */
  isNumeric?: boolean;
  /** A button at the head of each run takes it out. */
  onRemove?: (run: string) => void;
}): ReactElement {
  const { label, corner, children, isNumeric = false, onRemove } = props;
  const columns = useColumns();
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label={label}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col" className={classes.key}>
              {corner}
            </th>
            {columns.map((column) => (
              <th key={column.run.id} scope="col">
                <span className={classes.head} data-numeric={isNumeric}>
                  <RunName column={column} />
                  {onRemove !== undefined && (
                    <UnstyledButton
                      className={classes.remove}
                      aria-label={`Take ${nameOf(column.run)} out of the comparison`}
                      title="Take out of the comparison"
                      onClick={() => {
                        onRemove(column.run.id);
                      }}
                    >
                      ×
                    </UnstyledButton>
                  )}
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
