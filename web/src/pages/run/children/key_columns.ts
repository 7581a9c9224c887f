/** Which columns tell the children of a run apart; pure. */
import { fieldText } from "@/state/fields";
import { seriesName } from "@/state/series";
import type { Param } from "@/state/run";
import type { Series } from "@/state/series";

export interface Child {
  params: Readonly<Record<string, Param>>;
  series: readonly Series[];
}

/** More columns do not fit beside name and status. */
const PARAMS_MAX = 4;
const METRICS_MAX = 3;
/** What a run is judged by is called so, mostly. */
const JUDGED = /loss|acc|error|score|reward|f1|auc|perplexity/i;

/**
 * Returns columns for a table of children: how each stands, the params in which they differ, and
 * what they are judged by.
 */
export function keyColumns(children: readonly Child[]): string[] {
  return [
    "status",
    "name",
    ...differing(children).map((key) => fieldText("params", key)),
    ...judged(children.flatMap(({ series }) => series)),
    "duration",
    "created",
  ];
}

/** Of a single child nothing differs: its first params stand for it. */
function differing(children: readonly Child[]): string[] {
  const keys = [...new Set(children.flatMap(({ params }) => Object.keys(params)))].sort();
  const told = keys.filter((key) => {
    const values = new Set(children.map(({ params }) => params[key]?.text ?? null));
    return children.length === 1 || values.size > 1;
  });
  return told.slice(0, PARAMS_MAX);
}

function judged(series: readonly Series[]): string[] {
  const names = new Map(
    series.map(({ key, labels }) => [`metrics.${seriesName({ key, labels })}`, { key, labels }]),
  );
  const rank = (name: string): number => {
    const { key, labels } = names.get(name) ?? { key: "", labels: {} };
    return (JUDGED.test(key) ? 0 : 2) + (Object.keys(labels).length === 0 ? 0 : 1);
  };
  return [...names.keys()]
    .sort((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1))
    .slice(0, METRICS_MAX);
}
