/** What the menu of a column does to an address; pure. */
import type { RunsChange } from "@/pages/runs/address";
import { areDefault, type ColumnLook } from "@/pages/runs/columns";
import { GROUPED_ATTRIBUTES } from "@/pages/runs/groups";
import { moved } from "@/pages/runs/offers";

/** What can stand in a column of a metric. */
export const STATISTICS = [
  "last",
  "min",
  "max",
  "mean",
  "count",
  "nonfinite",
  "min_step",
  "max_step",
] as const;
export type Statistic = (typeof STATISTICS)[number];

/** Returns the column of a statistic of a series: `metrics.loss`, `metrics.loss.min`. */
export function statisticText(metric: string, statistic: string): string {
  return statistic === "last" ? metric : `${metric}.${statistic}`;
}

/** Returns the change that shows columns; the usual ones stand in no address. */
export function columnsChange(columns: readonly string[] | undefined): RunsChange {
  return {
    columns: columns === undefined || areDefault(columns) ? undefined : [...columns],
  };
}

/** Returns the change that shows another statistic in the place of one; an order by it goes along. */
export function withStatistic(
  columns: readonly string[],
  look: ColumnLook,
  { statistic, sort }: { statistic: Statistic; sort: string | undefined },
): RunsChange {
  const text = statisticText(`metrics.${look.series ?? ""}`, statistic);
  const isThere = columns.includes(text) && text !== look.text;
  const next = columns.flatMap((column) =>
    column !== look.text ? [column] : isThere ? [] : [text],
  );
  const change = columnsChange(next);
  if (sort === look.text) return { ...change, sort: text };
  return sort === `-${look.text}` ? { ...change, sort: `-${text}` } : change;
}

/** Returns the change that takes a column out; the order that it gave goes with it. */
export function withoutColumn(
  columns: readonly string[],
  text: string,
  sort: string | undefined,
): RunsChange {
  const change = columnsChange(columns.filter((column) => column !== text));
  return sort === text || sort === `-${text}` ? { ...change, sort: undefined } : change;
}

/** Returns the change that moves a column by so many places. */
export function withMoved(columns: readonly string[], text: string, by: number): RunsChange {
  return columnsChange(moved(columns, columns.indexOf(text), by));
}

/** Whether runs can be summed up by what stands in a column. */
export function isGroupable(text: string): boolean {
  return (
    text.startsWith("params.") ||
    text.startsWith("tags.") ||
    GROUPED_ATTRIBUTES.some((name) => name === text)
  );
}
