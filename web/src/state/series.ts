/** The series of a run, with their summaries. */
import { queryOptions } from "@tanstack/react-query";
import { api, bodyOf, type Schemas } from "@/api/client";
import { labelText } from "@/state/fields";
import { runKey } from "@/state/run";

export type Series = Schemas["SeriesSummary"];

/** The largest page that the server gives. */
const PAGE = 2_000;

/** All series of a run; summaries only, points are read by who draws them. */
export function seriesQuery(run: string) {
  return queryOptions({
    queryKey: [...runKey(run), "series"],
    queryFn: async ({ signal }): Promise<Series[]> => {
      const found: Series[] = [];
      let cursor: string | undefined;
      do {
        const page: Schemas["SeriesPage"] = bodyOf(
          await api.GET("/v1/runs/{run}/metrics", {
            params: {
              path: { run },
              query: { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
            },
            signal,
          }),
        );
        found.push(...page.series);
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined);
      return found;
    },
  });
}

/** Returns the name of a series as the server's parser prints it: `loss{fold=3,split=val}`. */
export function seriesName(series: Pick<Series, "key" | "labels">): string {
  const labels = Object.entries(series.labels)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}=${labelText(value)}`);
  return labels.length === 0 ? series.key : `${series.key}{${labels.join(",")}}`;
}

const WRITERS: ReadonlySet<string> = new Set(["stream", "rank"]);

/**
 * Returns what the labels of a series say of it, for people: of a name that was none of ours all of that
 * name, whose label has only the beginning of a long one, and who wrote.
 */
export function labelsText(series: Pick<Series, "labels" | "name">): string {
  const entries = Object.entries(series.labels);
  const isForeign = "raw" in series.labels;
  const told = isForeign ? entries.filter(([name]) => WRITERS.has(name)) : entries;
  const texts = told.map(([name, value]) => `${name}=${value}`);
  return (isForeign ? [series.name, ...texts] : texts).join(", ");
}

/** Returns the series with those of a frame in their place, and new ones behind. */
export function withChanged(known: readonly Series[], changed: readonly Series[]): Series[] {
  const byName = new Map(changed.map((series) => [seriesName(series), series]));
  const kept = known.map((series) => {
    const name = seriesName(series);
    const fresh = byName.get(name);
    byName.delete(name);
    return fresh ?? series;
  });
  return [...kept, ...byName.values()];
}

/** Returns a value of an answer as a number: JSON has no NaN, so it comes as a word. */
export function asNumber(value: number | string | null | undefined): number | null {
  if (value === null || value === undefined) return null;
  return typeof value === "number" ? value : Number(value);
}
