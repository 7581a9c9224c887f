/** What the address of a comparison holds; pure. */
import type { SeriesStat } from "@/pages/compare/summaries";
import { STATS } from "@/pages/compare/summaries";

/** One run is no comparison; more than ten columns nobody reads. */
export const RUNS_MIN = 2;
export const RUNS_MAX = 10;

export interface CompareSearch {
  /** Ids of runs, with commas between. */
  ids?: string;
  /** Part of a key: other rows are left out. */
  q?: string;
  /** Rows that are the same in all runs are shown too. */
  all?: true;
  /** What of each series stands in the table; the last value where it is absent. */
  stat?: SeriesStat;
  /** Series whose largest value is the best, and with a minus those whose smallest is. */
  best?: string[];
  /** What the curves are drawn over; steps where it is absent. */
  x?: "run_time" | "time";
  /** The values of the curves are on a scale of logarithms. */
  logy?: true;
  /** What the plots show: `parallel` where it is absent. */
  plot?: "scatter";
  /** The fields of the plots. */
  axes?: string[];
  /** Of those, the ones on a scale of logarithms. */
  log?: string[];
  /** The media that are shown. */
  media?: string;
  step?: number;
}

/** Reads the search of an address; what is no answer to its question is left out. */
export function compareSearch(search: Record<string, unknown>): CompareSearch {
  const ids = textOf(search.ids);
  const media = textOf(search.media);
  const q = textOf(search.q);
  const stat = STATS.find((one) => one !== "last" && one === search.stat);
  return {
    ...(ids === undefined ? {} : { ids }),
    ...(q === undefined ? {} : { q }),
    ...(search.all === true ? { all: true } : {}),
    ...(stat === undefined ? {} : { stat }),
    ...list("best", search.best),
    ...(search.x === "run_time" || search.x === "time" ? { x: search.x } : {}),
    ...(search.logy === true ? { logy: true } : {}),
    ...(search.plot === "scatter" ? { plot: "scatter" } : {}),
    ...list("axes", search.axes),
    ...list("log", search.log),
    ...(media === undefined ? {} : { media }),
    ...(Number.isSafeInteger(search.step) ? { step: search.step as number } : {}),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function list<K extends string>(name: K, value: unknown): Partial<Record<K, string[]>> {
  if (!Array.isArray(value)) return {};
  const texts = value.filter((one): one is string => typeof one === "string");
  return texts.length === 0 ? {} : ({ [name]: texts } as Partial<Record<K, string[]>>);
}

/** Returns the runs that an address names, each once and in its order. */
export function idsFromText(text: string | undefined): string[] {
  const ids = (text ?? "").split(",").map((id) => id.trim());
  return [...new Set(ids.filter((id) => id !== ""))];
}

/** Returns what stands in an address for runs; of none nothing stands there. */
export function textFromIds(ids: readonly string[]): { ids?: string } {
  return ids.length === 0 ? {} : { ids: ids.join(",") };
}
