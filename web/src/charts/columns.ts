/**
 * A curve as columns. Each entry stands for one point or for a bucket of them, so that a curve of
 * buckets whose newest points came one by one is one thing. Entries are ordered by their place on
 * the axis; what has no place there is counted, not kept.
 */
import type { Schemas } from "@/api/client";

export interface Columns {
  readonly length: number;
  /** Where the entry begins and ends on the axis; equal where it is a point. */
  readonly firstX: Float64Array;
  readonly lastX: Float64Array;
  /** The lowest and the highest step of its points. */
  readonly firstStep: Float64Array;
  readonly lastStep: Float64Array;
  /** The values at these steps; may be NaN or infinite. */
  readonly first: Float64Array;
  readonly last: Float64Array;
  /** Of the finite values; NaN where there is none. */
  readonly low: Float64Array;
  readonly high: Float64Array;
  readonly mean: Float64Array;
  /** How many points it stands for, and how many of them are not finite. */
  readonly count: Float64Array;
  readonly nans: Float64Array;
  readonly plusInfinities: Float64Array;
  readonly minusInfinities: Float64Array;
}

export interface CurveData extends Columns {
  /** Points behind all entries, those without a place on the axis too. */
  readonly total: number;
  /** Of them, those that have no place on the axis. */
  readonly withoutX: number;
  /** Points of lower steps that no entry stands for: more cannot be drawn over the axis. */
  readonly leftOut: number;
  /** Whether each entry is a point. */
  readonly isExact: boolean;
  /** Points in the range that retention has deleted; null: none. */
  readonly pruned: Schemas["PrunedPoints"] | null;
}

type Wire = number | string;

const WORDS: Record<string, number> = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity };

/** Returns the number that the wire's word or number means. */
function numberFromWire(value: Wire): number {
  return typeof value === "number" ? value : (WORDS[value] ?? NaN);
}

const NAMES = [
  "firstX",
  "lastX",
  "firstStep",
  "lastStep",
  "first",
  "last",
  "low",
  "high",
  "mean",
  "count",
  "nans",
  "plusInfinities",
  "minusInfinities",
] as const;
type Name = (typeof NAMES)[number];

/** Returns columns that hold what a function says of each entry that it is asked for. */
function fill(length: number, entry: (at: number) => Record<Name, number>): Columns {
  const columns = Object.fromEntries(
    NAMES.map((name) => [name, new Float64Array(length)]),
  ) as Record<Name, Float64Array>;
  for (let at = 0; at < length; at++) {
    const row = entry(at);
    for (const name of NAMES) columns[name][at] = row[name];
  }
  return { length, ...columns };
}

/** Returns the entry that one point is. */
function pointEntry(x: number, step: number, value: number): Record<Name, number> {
  const finite = Number.isFinite(value) ? value : NaN;
  return {
    firstX: x,
    lastX: x,
    firstStep: step,
    lastStep: step,
    first: value,
    last: value,
    low: finite,
    high: finite,
    mean: finite,
    count: 1,
    nans: Number.isNaN(value) ? 1 : 0,
    plusInfinities: value === Infinity ? 1 : 0,
    minusInfinities: value === -Infinity ? 1 : 0,
  };
}

function bucketEntry(bucket: Schemas["Bucket"], isPlaced: boolean): Record<Name, number> {
  const first = numberFromWire(bucket.first);
  const last = numberFromWire(bucket.last);
  const firstStep = bucket.first_step ?? 0;
  const lastStep = bucket.last_step ?? 0;
  return {
    firstX: isPlaced ? (bucket.first_x ?? NaN) : firstStep,
    lastX: isPlaced ? (bucket.last_x ?? NaN) : lastStep,
    firstStep,
    lastStep,
    first,
    last,
    low: bucket.min ?? NaN,
    high: bucket.max ?? NaN,
    mean: bucket.mean ?? middle(bucket.min, bucket.max),
    count: bucket.count,
    nans: bucket.nan_count,
    plusInfinities: bucket.infinity_count,
    minusInfinities: bucket.nonfinite_count - bucket.nan_count - bucket.infinity_count,
  };
}

/** Stands for a mean that is beyond what a float can sum up. */
function middle(low: number | null, high: number | null): number {
  return low === null || high === null ? NaN : low / 2 + high / 2;
}

/** Returns columns of points alone, where those that are the same are one: less than half the memory. */
function shared(columns: Columns): Columns {
  const { firstX, firstStep, first, low, nans } = columns;
  const isNever = (column: Float64Array): boolean => column.every((value) => value === 0);
  return {
    ...columns,
    lastX: firstX,
    lastStep: firstStep,
    last: first,
    high: low,
    mean: low,
    plusInfinities:
      isNever(columns.plusInfinities) && isNever(nans) ? nans : columns.plusInfinities,
    minusInfinities:
      isNever(columns.minusInfinities) && isNever(nans) ? nans : columns.minusInfinities,
  };
}

/** Returns the columns of what the server answered. */
export function dataFromCurve(curve: Schemas["Curve"]): CurveData {
  const isPlaced = typeof curve.x === "string";
  const pruned = curve.pruned ?? null;
  if (curve.buckets) {
    const buckets = curve.buckets;
    const columns = fill(buckets.length, (at) =>
      bucketEntry(buckets[at] as Schemas["Bucket"], isPlaced),
    );
    return {
      ...columns,
      total: curve.points_total,
      withoutX: curve.points_without_x ?? 0,
      leftOut: 0,
      isExact: columns.count.every((count) => count === 1),
      pruned,
    };
  }
  const rows = (curve.points ?? []).flatMap(([step, , value], at) => {
    const place = isPlaced ? numberFromWire(curve.xs?.[at] ?? NaN) : (step ?? 0);
    return Number.isFinite(place) ? [pointEntry(place, step ?? 0, numberFromWire(value))] : [];
  });
  // Of equal places the lower step comes first, as in the server's buckets.
  if (isPlaced) rows.sort((a, b) => a.firstX - b.firstX || a.firstStep - b.firstStep);
  return {
    ...shared(fill(rows.length, (at) => rows[at] as Record<Name, number>)),
    total: curve.points_total,
    withoutX: (curve.points?.length ?? 0) - rows.length,
    leftOut: 0,
    isExact: true,
    pruned,
  };
}

/**
 * Returns a curve with newer points behind it, or null where they do not fit behind: a step or a
 * place that is not after all that is there. Then the curve is to be read anew.
 */
export function appendPoints(known: CurveData, newer: CurveData): CurveData | null {
  if (newer.length === 0) return { ...known, total: known.total + newer.total };
  const end = known.length - 1;
  const isBehind =
    known.length === 0 ||
    ((newer.firstStep[0] as number) > lastStepOf(known) &&
      (newer.firstX[0] as number) >= (known.lastX[end] as number));
  if (!isBehind) return null;
  const columns = Object.fromEntries(
    NAMES.map((name) => {
      const joined = new Float64Array(known.length + newer.length);
      joined.set(known[name]);
      joined.set(newer[name], known.length);
      return [name, joined];
    }),
  ) as Record<Name, Float64Array>;
  return {
    length: known.length + newer.length,
    ...columns,
    total: known.total + newer.total,
    withoutX: known.withoutX + newer.withoutX,
    leftOut: known.leftOut,
    isExact: known.isExact && newer.isExact,
    pruned: known.pruned,
  };
}

/** Returns the highest step of a curve; −1 where there is none. */
export function lastStepOf(columns: Columns): number {
  let highest = -1;
  for (const step of columns.lastStep) if (step > highest) highest = step;
  return highest;
}

/**
 * Returns which entries a stretch of the axis touches, half-open; the line reaches one further on
 * both sides.
 */
export function entriesIn(columns: Columns, from: number, to: number): [number, number] {
  const start = lowerBound(columns.lastX, from);
  let stop = lowerBound(columns.firstX, to);
  while (stop < columns.length && (columns.firstX[stop] as number) === to) stop++;
  return [start, Math.max(start, stop)];
}

/** Returns the steps that the entries of a stretch of the axis span; null where there is none. */
export function stepsIn(columns: Columns, from: number, to: number): [number, number] | null {
  const [start, stop] = entriesIn(columns, from, to);
  if (start === stop) return null;
  let lowest = Infinity;
  let highest = -Infinity;
  for (let at = start; at < stop; at++) {
    lowest = Math.min(lowest, columns.firstStep[at] as number);
    highest = Math.max(highest, columns.lastStep[at] as number);
  }
  return [lowest, highest];
}

/** Returns the entry whose stretch is nearest to a place on the axis; −1 where there is none. */
export function nearestEntry(columns: Columns, x: number): number {
  if (columns.length === 0) return -1;
  const right = Math.min(lowerBound(columns.lastX, x), columns.length - 1);
  if (right === 0) return 0;
  const toRight = Math.max(0, (columns.firstX[right] as number) - x);
  const toLeft = x - (columns.lastX[right - 1] as number);
  return toLeft < toRight ? right - 1 : right;
}

/** Returns the first place of an ascending column that is not below a value. */
function lowerBound(column: Float64Array, value: number): number {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const at = (low + high) >> 1;
    if ((column[at] as number) < value) low = at + 1;
    else high = at;
  }
  return low;
}
