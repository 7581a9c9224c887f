/** How far the values of what is seen reach, and what a chart of them cannot show. */
import { entriesIn, type Columns } from "@/charts/columns";
import type { Range, Scale } from "@/charts/scales";

/** How many points something is true of; of buckets only a lower limit may be known. */
export interface Counted {
  readonly count: number;
  readonly isAtLeast: boolean;
}

export const NOTHING: Counted = { count: 0, isAtLeast: false };

export function addCounts(a: Counted, b: Counted): Counted {
  return { count: a.count + b.count, isAtLeast: a.isAtLeast || b.isAtLeast };
}

/** The share of values at each end that an outlier-free view may leave out. */
const TAIL = 0.02;

/** Returns the extent of the values that a stretch of the axis shows; null where there is none. */
export function valueExtent(lines: readonly Columns[], x: Range, scale: Scale): Range | null {
  let low = Infinity;
  let high = -Infinity;
  for (const columns of lines) {
    const [start, stop] = entriesIn(columns, x[0], x[1]);
    for (let at = start; at < stop; at++) {
      for (const value of ends(columns, at)) {
        if (!Number.isFinite(scale.to(value))) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
  }
  return low <= high ? [low, high] : null;
}

/** The values of an entry that are known: its extremes, and its ends. */
function ends(columns: Columns, at: number): number[] {
  return [
    columns.low[at] as number,
    columns.high[at] as number,
    columns.first[at] as number,
    columns.last[at] as number,
  ];
}

/**
 * Returns the extent without outliers: what the middle of the values spans, with half of that as
 * room on both sides, but no more than there is.
 */
export function clippedExtent(lines: readonly Columns[], x: Range, scale: Scale): Range | null {
  const whole = valueExtent(lines, x, scale);
  if (whole === null) return null;
  const places: number[] = [];
  for (const columns of lines) {
    const [start, stop] = entriesIn(columns, x[0], x[1]);
    for (let at = start; at < stop; at++) {
      // The ends of a bucket are any of its points; its extremes would be the outliers.
      for (const value of [columns.first[at] as number, columns.last[at] as number]) {
        const place = scale.to(value);
        if (Number.isFinite(place)) places.push(place);
      }
    }
  }
  if (places.length === 0) return whole;
  places.sort((a, b) => a - b);
  const cut = Math.floor(places.length * TAIL);
  const low = places[cut] as number;
  const high = places[places.length - 1 - cut] as number;
  const room = (high - low) / 2;
  if (room === 0) return whole;
  return [Math.max(whole[0], scale.from(low - room)), Math.min(whole[1], scale.from(high + room))];
}

/** Counts the finite points of a stretch that lie outside a range of values. */
export function countOutside(columns: Columns, x: Range, shown: Range): Counted {
  let count = 0;
  let isAtLeast = false;
  const [start, stop] = entriesIn(columns, x[0], x[1]);
  for (let at = start; at < stop; at++) {
    const low = columns.low[at] as number;
    const high = columns.high[at] as number;
    const finite = finiteCount(columns, at);
    if (Number.isNaN(low) || (low >= shown[0] && high <= shown[1])) continue;
    if (low > shown[1] || high < shown[0]) count += finite;
    else {
      count += Math.min(finite, Number(low < shown[0]) + Number(high > shown[1]));
      isAtLeast = true;
    }
  }
  return { count, isAtLeast };
}

/** Counts the finite points of a stretch that a scale has no place for. */
export function countWithoutPlace(columns: Columns, x: Range, scale: Scale): Counted {
  return scale.kind === "linear" ? NOTHING : countOutside(columns, x, [Number.MIN_VALUE, Infinity]);
}

interface Nonfinite {
  readonly nans: number;
  readonly plusInfinities: number;
  readonly minusInfinities: number;
}

/** Counts what is not finite in a stretch. */
export function countNonfinite(columns: Columns, x: Range): Nonfinite {
  const found = { nans: 0, plusInfinities: 0, minusInfinities: 0 };
  const [start, stop] = entriesIn(columns, x[0], x[1]);
  for (let at = start; at < stop; at++) {
    found.nans += columns.nans[at] as number;
    found.plusInfinities += columns.plusInfinities[at] as number;
    found.minusInfinities += columns.minusInfinities[at] as number;
  }
  return found;
}

/** Counts the points of a stretch; an entry counts whole, though it reach beyond. */
export function countPoints(columns: Columns, x: Range): number {
  const [start, stop] = entriesIn(columns, x[0], x[1]);
  let count = 0;
  for (let at = start; at < stop; at++) count += columns.count[at] as number;
  return count;
}

function finiteCount(columns: Columns, at: number): number {
  return (
    (columns.count[at] as number) -
    (columns.nans[at] as number) -
    (columns.plusInfinities[at] as number) -
    (columns.minusInfinities[at] as number)
  );
}
