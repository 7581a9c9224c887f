/** Runs summed up in groups: what is asked for, and what leads back to the runs of one. */
import { queryOptions } from "@tanstack/react-query";
import { api, bodyOf, type Schemas } from "@/api/client";
import type { ColumnLook } from "@/pages/runs/columns";
import { fieldText, type Fields, quoted } from "@/state/fields";

type RunGroups = Schemas["RunGroups"];
export type RunGroup = Schemas["RunGroup"];
export type GroupValue = RunGroup["by"][string];
type Statistic = Schemas["SeriesStat"];

/** Metrics that are summed up at a time: each is a question of its own. */
export const SUMMED_MAX = 8;
/** What every run has and by which groups mean something. */
export const GROUPED_ATTRIBUTES = ["experiment", "user", "status", "kind", "attempts"] as const;
const WORDS: ReadonlySet<string> = new Set(["status", "kind"]);

/** Returns the columns whose series can be summed up. */
export function summable(looks: readonly ColumnLook[]): ColumnLook[] {
  return looks.filter(({ series, detail }) => series !== null && !detail.startsWith("at "));
}

export function groupsQuery(asked: {
  project: string;
  filters: readonly string[];
  by: string;
  look: ColumnLook;
}) {
  const { project, filters, by, look } = asked;
  const stat = (look.detail === "" ? "last" : look.detail) as Statistic;
  return queryOptions({
    queryKey: ["groups", project, { filters, by, column: look.text }],
    queryFn: async ({ signal }): Promise<RunGroups> =>
      bodyOf(
        await api.GET("/v1/run-groups", {
          signal,
          params: {
            query: { project, by, y: look.series ?? "", stat, filter: [...filters] },
          },
        }),
      ),
  });
}

/** Returns the fields by which a project's runs can be grouped. */
export function groupedBy(fields: Fields | undefined): { group: string; items: string[] }[] {
  return [
    { group: "Params", items: (fields?.params ?? []).map((key) => fieldText("params", key)) },
    { group: "Tags", items: (fields?.tags ?? []).map((key) => fieldText("tags", key)) },
    { group: "Of every run", items: [...GROUPED_ATTRIBUTES] },
  ];
}

/** Returns the condition that the runs of one group meet. */
export function conditionOf(by: string, value: GroupValue): string {
  if (value === null) return `${by} IS MISSING`;
  if (typeof value === "number") return `${by} = ${value}`;
  return `${by} = ${WORDS.has(by) ? value : quoted(value)}`;
}

/** Returns a filter with one more condition. */
export function narrowed(filter: string, condition: string): string {
  return filter.trim() === "" ? condition : `(${filter.trim()}) AND ${condition}`;
}
