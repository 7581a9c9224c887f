/** Series side by side: which number stands in the table, and which of a row is the best; pure. */
import type { Schemas } from "@/api/client";
import { asNumber } from "@/state/series";

export type ComparedSeries = Schemas["ComparedSeries"];
type Summary = Schemas["SeriesSummary"];

export const STATS = ["last", "min", "max", "mean", "count", "nonfinite"] as const;
export type SeriesStat = (typeof STATS)[number];
type Direction = "min" | "max";

/** Returns a number of a summary; `null`: the run has no such series, or no finite value. */
export function statOf(summary: Summary | null | undefined, stat: SeriesStat): number | null {
  if (summary === null || summary === undefined) return null;
  switch (stat) {
    case "last":
      return asNumber(summary.last_value);
    case "min":
      return summary.min_value;
    case "max":
      return summary.max_value;
    case "mean":
      return summary.mean;
    case "count":
      return summary.count;
    case "nonfinite":
      return summary.nonfinite_count;
  }
}

/** Words of names of series of which more is better; where none is in the name, less is. */
const MORE_IS_BETTER =
  /(^|[^a-z])(acc(uracy)?|auc|auroc|ap|map|f1|precision|recall|score|reward|return|bleu|rouge|iou|dice|psnr|ssim|r2|throughput|ips|fps|hits?|success|win)([^a-z]|$)/i;

/** Guesses which values of a series are the better ones; whoever looks may say otherwise. */
export function usualDirection(key: string): Direction {
  return MORE_IS_BETTER.test(key) ? "max" : "min";
}

/** Returns which values of a series are the better ones, by what was chosen in the address. */
export function directionOf(name: string, key: string, chosen: readonly string[]): Direction {
  if (chosen.includes(name)) return "max";
  if (chosen.includes(`-${name}`)) return "min";
  return usualDirection(key);
}

/** Returns what stands in the address after a series was turned round. */
export function turned(name: string, key: string, chosen: readonly string[]): string[] {
  const rest = chosen.filter((one) => one !== name && one !== `-${name}`);
  const wanted = directionOf(name, key, chosen) === "max" ? "min" : "max";
  if (wanted === usualDirection(key)) return rest;
  return [...rest, wanted === "max" ? name : `-${name}`];
}

/**
 * Returns the places of the best values of a row.
 *
 * NaN and the infinities are never the best; where all values are equal, or there is one alone, none
 * is better than another.
 */
export function bestOf(values: readonly (number | null)[], direction: Direction): Set<number> {
  const finite = values.filter((value): value is number => Number.isFinite(value));
  if (finite.length < 2) return new Set();
  const smallest = finite.reduce((one, other) => Math.min(one, other));
  const largest = finite.reduce((one, other) => Math.max(one, other));
  if (smallest === largest) return new Set();
  const best = direction === "min" ? smallest : largest;
  return new Set(values.flatMap((value, at) => (value === best ? [at] : [])));
}

/** Says whether the runs differ in a series; a run that lacks it differs. */
export function isDifferent(values: readonly (number | null)[]): boolean {
  return values.some((value) => !Object.is(value, values[0]));
}
