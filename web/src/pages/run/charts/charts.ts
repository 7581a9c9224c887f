/** From the series of a run to its charts: one a key, with a line for each series. */
import type { LineSource } from "@/charts/following";
import { visitColours } from "@/charts/line_colours";
import { asNumber, labelsText, seriesName, type Series } from "@/state/series";

export interface ChartOfKey {
  readonly key: string;
  readonly lines: readonly LineSource[];
  /** All that is looked for, in small letters. */
  readonly text: string;
}

/**
 * Returns the charts of the series that have steps, by key.
 *
 * @param by - The label that colours tell apart; null: all of them together.
 */
export function chartsOf(
  series: readonly Series[],
  about: { run: string; attempt: number | null; by: string | null },
): ChartOfKey[] {
  const byKey = new Map<string, Series[]>();
  for (const one of series) {
    if (one.is_scalar) continue;
    const known = byKey.get(one.key);
    if (known === undefined) byKey.set(one.key, [one]);
    else known.push(one);
  }
  return [...byKey]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, lines]) => chartOf(key, lines, about));
}

/** `fold=2` stands before `fold=10`. */
const byNumbers = new Intl.Collator("en", { numeric: true });

function chartOf(
  key: string,
  series: readonly Series[],
  about: { run: string; attempt: number | null; by: string | null },
): ChartOfKey {
  const told = (one: Series): string =>
    about.by === null ? seriesName({ key: "", labels: one.labels }) : (one.labels[about.by] ?? "");
  const colour = visitColours(`label ${about.by ?? "all"}`, series.map(told));
  const ordered = [...series].sort((a, b) => byNumbers.compare(seriesName(a), seriesName(b)));
  return {
    key,
    text: series
      .flatMap((one) => [one.name, seriesName(one)])
      .join("\n")
      .toLowerCase(),
    lines: ordered.map((one) => ({
      id: seriesName(one),
      run: about.run,
      key,
      labels: one.labels,
      attempt: about.attempt,
      name: lineName(one),
      colour: colour(told(one)),
      head: {
        count: one.count - (one.pruned?.count ?? 0),
        lastStep: one.last_step,
        last: asNumber(one.last_value) ?? NaN,
        min: one.min_value,
        max: one.max_value,
      },
    })),
  };
}

/** Returns what a line is called in its chart, whose title is the key already. */
function lineName(series: Series): string {
  return Object.keys(series.labels).length === 0 ? series.key : labelsText(series);
}

/** Returns the charts that have every word that is looked for. */
export function matching(charts: readonly ChartOfKey[], looked: string): ChartOfKey[] {
  const words = looked.toLowerCase().split(/\s+/).filter(Boolean);
  return charts.filter(({ text }) => words.every((word) => text.includes(word)));
}

/** Returns the charts with the pinned ones first, in the order of the pins. */
export function withPinsFirst(
  charts: readonly ChartOfKey[],
  pins: readonly string[],
): ChartOfKey[] {
  const places = new Map(pins.map((key, at) => [key, at]));
  const place = (chart: ChartOfKey): number => places.get(chart.key) ?? Infinity;
  const pinned = charts.filter((chart) => places.has(chart.key));
  const others = charts.filter((chart) => !places.has(chart.key));
  return [...pinned.sort((a, b) => place(a) - place(b)), ...others];
}

/** Returns the pins with one moved by a place, as far as that goes. */
export function movedPin(pins: readonly string[], key: string, by: -1 | 1): string[] {
  const at = pins.indexOf(key);
  const to = at + by;
  const moved = [...pins];
  if (at < 0 || to < 0 || to >= pins.length) return moved;
  moved.splice(at, 1);
  moved.splice(to, 0, key);
  return moved;
}

/** Returns the labels that lines can be told apart by. */
export function tellingLabels(series: readonly Series[]): string[] {
  return [...new Set(series.flatMap(({ labels }) => Object.keys(labels)))].sort();
}
