/** One run in the table: drawn anew only where it has changed itself. */
import { memo, type ReactElement } from "react";
import { Cell } from "@/pages/runs/cells";
import type { ColumnLook } from "@/pages/runs/columns";
import type { RunRow } from "@/pages/runs/merging";
import classes from "@/pages/runs/table.module.css";

interface RowProps {
  run: RunRow;
  index: number;
  start: number;
  looks: readonly ColumnLook[];
  places: ReadonlyMap<string, number>;
  project: string;
  isNarrow: boolean;
  isChosen: boolean;
  isActive: boolean;
  isGone: boolean;
  onChoose: (id: string, isChosen: boolean, isRange: boolean) => void;
  onActive: (id: string) => void;
}

export const Row = memo(function Row(props: RowProps): ReactElement {
  const { run, looks, isChosen, onChoose } = props;
  return (
    <div
      role="row"
      id={rowId(run.id)}
      className={classes.row}
      aria-rowindex={props.index + 2}
      aria-selected={isChosen}
      data-active={props.isActive}
      data-gone={props.isGone}
      title={props.isGone ? "This run is no longer in the list." : undefined}
      style={{ transform: `translateY(${props.start}px)` }}
      onClick={(event) => {
        props.onActive(run.id);
        // A box that was clicked has the focus: keys are the table's.
        if (event.target instanceof HTMLInputElement) {
          event.target.closest<HTMLElement>("[role='grid']")?.focus({ preventScroll: true });
        }
      }}
    >
      <span role="gridcell" className={`${classes.cell} ${classes.check}`}>
        <label>
          <input
            type="checkbox"
            aria-label={`Choose ${run.name === "" ? run.id : run.name}`}
            checked={isChosen}
            tabIndex={-1}
            onChange={(event) => {
              const { nativeEvent } = event;
              const isRange = nativeEvent instanceof MouseEvent && nativeEvent.shiftKey;
              onChoose(run.id, event.currentTarget.checked, isRange);
            }}
          />
        </label>
      </span>
      {looks.map((look) => (
        <Cell
          key={look.text}
          run={run}
          look={look}
          at={props.places.get(look.text)}
          project={props.project}
          isNarrow={props.isNarrow}
        />
      ))}
    </div>
  );
});

/** Returns the id of the element of a run, by which the table points at it. */
export function rowId(run: string | null): string {
  return `row-${run ?? ""}`;
}
