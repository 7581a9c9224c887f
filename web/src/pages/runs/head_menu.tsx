/** The menu of a column: order, statistic, place, groups. */
import { ActionIcon, Menu } from "@mantine/core";
import type { ReactElement } from "react";
import type { RunsChange } from "@/pages/runs/address";
import {
  isGroupable,
  STATISTICS,
  withMoved,
  withoutColumn,
  withStatistic,
} from "@/pages/runs/changing";
import { type ColumnLook, directionOf, isSortable } from "@/pages/runs/columns";
import classes from "@/pages/runs/table.module.css";

interface HeadMenuProps {
  look: ColumnLook;
  /** As it is called. */
  name: string;
  /** All that are shown, in their order. */
  columns: readonly string[];
  sort: string | undefined;
  onChange: (change: RunsChange) => void;
  /** In a narrow head, which has room for nothing else: the order, by its arrow. */
  mark?: string;
}

export function HeadMenu(props: HeadMenuProps): ReactElement {
  return (
    <Menu position="bottom-end" withinPortal shadow="md">
      <Menu.Target>
        <ActionIcon
          size={24}
          className={props.mark === undefined ? classes.headMenu : classes.headMark}
          aria-label={`What to do with the column ${props.name}`}
        >
          {props.mark === undefined || props.mark === "" ? "⋮" : props.mark}
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Entries {...props} />
      </Menu.Dropdown>
    </Menu>
  );
}

function Entries(props: HeadMenuProps): ReactElement {
  const { look, columns, sort, onChange } = props;
  const { text, series, detail } = look;
  const direction = directionOf(sort, text);
  const at = columns.indexOf(text);
  const entry = (label: string, change: RunsChange, isCurrent?: boolean): ReactElement => (
    <Menu.Item
      key={label}
      {...(isCurrent === undefined ? {} : { "aria-current": isCurrent })}
      leftSection={
        <span className={classes.current} aria-hidden="true">
          {isCurrent === true ? "✓" : ""}
        </span>
      }
      onClick={() => {
        onChange(change);
      }}
    >
      {label}
    </Menu.Item>
  );
  return (
    <>
      {isSortable(look) && (
        <>
          {entry("Sort ascending", { sort: text }, direction === "ascending")}
          {entry("Sort descending", { sort: `-${text}` }, direction === "descending")}
          <Menu.Divider />
        </>
      )}
      {series !== null && isSortable(look) && (
        <>
          <div role="group" aria-label="Statistic">
            <Menu.Label aria-hidden="true">Statistic</Menu.Label>
            {STATISTICS.map((statistic) =>
              entry(
                statistic,
                withStatistic(columns, look, { statistic, sort }),
                statistic === (detail === "" ? "last" : detail),
              ),
            )}
          </div>
          <Menu.Divider />
        </>
      )}
      {isGroupable(text) && entry("Group by this", { group: text })}
      {at > 0 && entry("Move left", withMoved(columns, text, -1))}
      {at < columns.length - 1 && entry("Move right", withMoved(columns, text, 1))}
      {text !== "name" && entry("Hide", withoutColumn(columns, text, sort))}
    </>
  );
}
