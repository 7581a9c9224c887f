/** What a plot may have on its axes: params, and what summaries say of series; pure. */
import type { Schemas } from "@/api/client";
import { isNumeral } from "@/base/numbers";
import { statOf, usualDirection } from "@/pages/compare/summaries";
import { seriesName } from "@/state/series";

type Comparison = Pick<Schemas["Comparison"], "params" | "series">;

/** A value of a run on an axis: a number, or a word of those that a param has. */
type FieldValue = number | string | null;

export interface Field {
  /** Stands in the address. */
  name: string;
  /** Stands at the axis. */
  label: string;
  kind: "param" | "metric";
  /** One a run. */
  values: FieldValue[];
}

/** More words than this on one axis nobody tells apart. */
const WORDS_MAX = 12;
const METRIC_STATS = ["last", "min", "max"] as const;

/** Returns every field that two runs at least have a value of. */
export function fieldsOf(comparison: Comparison): Field[] {
  const params = comparison.params.flatMap(({ key, texts }): Field[] => {
    const values = paramValues(texts);
    return values === null ? [] : [{ name: `params.${key}`, label: key, kind: "param", values }];
  });
  const metrics = comparison.series.flatMap((series) =>
    METRIC_STATS.map((stat): Field => {
      const text = seriesName(series);
      return {
        name: `metrics.${text}.${stat}`,
        label: `${text} (${stat})`,
        kind: "metric",
        values: series.summaries.map((summary) => {
          const value = statOf(summary, stat);
          // An axis has no place for NaN and the infinities.
          return value !== null && Number.isFinite(value) ? value : null;
        }),
      };
    }),
  );
  return [...params, ...metrics].filter(
    ({ values }) => values.filter((value) => value !== null).length >= 2,
  );
}

/** Returns a param's values: numbers where all are, else words; `null` where these are too many. */
function paramValues(texts: readonly (string | null)[]): FieldValue[] | null {
  const known = texts.filter((text) => text !== null);
  if (known.every((text) => isNumeral(text) && Number.isFinite(Number(text)))) {
    return texts.map((text) => (text === null ? null : Number(text)));
  }
  return new Set(known).size > WORDS_MAX ? null : [...texts];
}

/**
 * Returns the fields that a plot shows.
 *
 * @param chosen - Names from the address; those that are no fields any more are left out.
 * @param countUsual - How many are shown where the address chooses none: params that differ, then
 *   the first series, each by what is usually best of it.
 */
export function chosenFields(
  fields: readonly Field[],
  chosen: readonly string[],
  countUsual: number,
): Field[] {
  const found = chosen.flatMap((name) => fields.filter((field) => field.name === name));
  if (found.length > 0) return found;
  const params = fields.filter(({ kind, values }) => kind === "param" && differs(values));
  const metrics = fields.filter(
    ({ kind, name, label, values }) =>
      kind === "metric" && differs(values) && name.endsWith(`.${usualDirection(label)}`),
  );
  const metricCount = Math.max(1, Math.min(metrics.length, Math.ceil(countUsual / 2)));
  const picked = [...params.slice(0, countUsual - metricCount), ...metrics.slice(0, metricCount)];
  const more = [
    ...metrics.slice(metricCount),
    ...params.slice(countUsual - metricCount),
    ...fields,
  ];
  return [...new Set([...picked, ...more])].slice(0, countUsual);
}

function differs(values: readonly FieldValue[]): boolean {
  return values.some((value) => value !== values[0]);
}
