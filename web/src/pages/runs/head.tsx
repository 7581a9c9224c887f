/** The head of the table: a click orders by a column. */
import type { ReactElement } from "react";
import { type ColumnLook, directionOf, isSortable, nextSort } from "@/pages/runs/columns";
import classes from "@/pages/runs/table.module.css";

interface HeadProps {
  looks: readonly ColumnLook[];
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
  isAllChosen: boolean;
  isSomeChosen: boolean;
  onChooseAll: (isChosen: boolean) => void;
}

export function Head(props: HeadProps): ReactElement {
  const { looks, isAllChosen, isSomeChosen } = props;
  return (
    <div role="rowgroup" className={classes.head}>
      <div role="row" className={classes.row} aria-rowindex={1}>
        <span role="columnheader" className={`${classes.cell} ${classes.check}`}>
          <label>
            <input
              type="checkbox"
              aria-label="Choose all runs that are loaded"
              checked={isAllChosen}
              ref={(input) => {
                if (input !== null) input.indeterminate = isSomeChosen && !isAllChosen;
              }}
              onChange={(event) => {
                props.onChooseAll(event.currentTarget.checked);
              }}
            />
          </label>
        </span>
        {looks.map((look) => (
          <HeadCell key={look.text} look={look} sort={props.sort} onSort={props.onSort} />
        ))}
      </div>
    </div>
  );
}

function HeadCell(props: {
  look: ColumnLook;
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
}): ReactElement {
  const { look, sort, onSort } = props;
  const direction = directionOf(sort, look.text);
  const place = look.text === "name" ? classes.name : look.isRight ? classes.number : "";
  const label = (
    <>
      <span className={classes.text}>
        <bdi>{look.label}</bdi>
      </span>
      {look.detail !== "" && <span className={classes.detail}>{look.detail}</span>}
      {direction !== null && (
        <span aria-hidden="true" className={classes.arrow}>
          {direction === "ascending" ? "↑" : "↓"}
        </span>
      )}
    </>
  );
  return (
    <span
      role="columnheader"
      className={`${classes.cell} ${place}`}
      aria-sort={direction ?? (isSortable(look) ? "none" : undefined)}
      title={look.text}
    >
      {isSortable(look) ? (
        <button
          type="button"
          className={classes.headButton}
          data-sorted={direction !== null}
          aria-label={look.label === "" ? look.text : undefined}
          onClick={() => {
            onSort(nextSort(sort, look));
          }}
        >
          {label}
        </button>
      ) : (
        label
      )}
    </span>
  );
}
