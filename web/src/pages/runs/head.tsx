/** The head of the table: a click orders by a column, its menu does the rest. */
import type { ReactElement } from "react";
import type { RunsChange } from "@/pages/runs/address";
import { type ColumnLook, directionOf, isSortable, nextSort } from "@/pages/runs/columns";
import { HeadMenu } from "@/pages/runs/head_menu";
import classes from "@/pages/runs/table.module.css";

/** A narrower column has no room for its name: its head is its menu. */
const NAMED_FROM_PX = 64;
const ARROWS = { ascending: "↑", descending: "↓" } as const;

interface HeadProps {
  looks: readonly ColumnLook[];
  sort: string | undefined;
  onChange: (change: RunsChange) => void;
  isAllChosen: boolean;
  isSomeChosen: boolean;
  onChooseAll: (isChosen: boolean) => void;
}

export function Head(props: HeadProps): ReactElement {
  const { looks, isAllChosen, isSomeChosen } = props;
  const columns = looks.map(({ text }) => text);
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
          <HeadCell
            key={look.text}
            look={look}
            columns={columns}
            sort={props.sort}
            onChange={props.onChange}
          />
        ))}
      </div>
    </div>
  );
}

function HeadCell(props: {
  look: ColumnLook;
  columns: readonly string[];
  sort: string | undefined;
  onChange: (change: RunsChange) => void;
}): ReactElement {
  const { look, columns, sort, onChange } = props;
  const name = `${look.label === "" ? look.text : look.label} ${look.detail}`.trim();
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
          {ARROWS[direction]}
        </span>
      )}
    </>
  );
  const isNarrow = look.width < NAMED_FROM_PX;
  const menu = (
    <HeadMenu
      {...{ look, name, columns, sort, onChange }}
      {...(isNarrow ? { mark: direction === null ? "" : ARROWS[direction] } : {})}
    />
  );
  return (
    <span
      role="columnheader"
      className={`${classes.cell} ${classes.headCell} ${place}`}
      aria-label={name}
      aria-sort={direction ?? (isSortable(look) ? "none" : undefined)}
      title={look.text}
    >
      {isNarrow ? (
        menu
      ) : isSortable(look) ? (
        <button
          type="button"
          className={classes.headButton}
          data-sorted={direction !== null}
          onClick={() => {
            onChange({ sort: nextSort(sort, look) });
          }}
        >
          {label}
        </button>
      ) : (
        <span className={classes.headLabel}>{label}</span>
      )}
      {!isNarrow && menu}
    </span>
  );
}
