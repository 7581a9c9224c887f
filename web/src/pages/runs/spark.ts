/** A curve as small as a word: the band between its extremes, a line, and marks of what is not finite. */
import type { Schemas } from "@/api/client";

/** Of an answer: exact points (step, time, value), or buckets of them. */
export interface Curve {
  points?: readonly (readonly (number | string | null)[])[] | null;
  buckets?: readonly Schemas["Bucket"][] | null;
}

interface Spark {
  /** Of SVG: the values, from left to right. */
  line: string;
  /** Between the smallest and the largest value at each place. */
  band: string;
  /** Places along the axis where values are NaN or infinite. */
  marks: number[];
}

interface Place {
  x: number;
  low: number | null;
  high: number | null;
  last: number | null;
  hasNonfinite: boolean;
}

/** Returns what is drawn of a curve, or null where it has no two places. */
export function sparkOf(curve: Curve, width: number, height: number): Spark | null {
  const places = placesOf(curve);
  const first = places[0];
  const end = places.at(-1);
  if (first === undefined || end === undefined || end.x === first.x) return null;
  const low = extreme(places, "low", Math.min);
  const high = extreme(places, "high", Math.max);
  const toX = (x: number): number => round(((x - first.x) / (end.x - first.x)) * width);
  const marks = places.filter(({ hasNonfinite }) => hasNonfinite).map(({ x }) => toX(x));
  if (low === null || high === null) return { line: "", band: "", marks };
  const toY = (value: number): number => round(height - fraction(value, low, high) * height);
  const drawn = places.filter(({ last }) => last !== null);
  const at = ({ x }: Place, value: number | null): string => `${toX(x)},${toY(value ?? low)}`;
  const line = drawn.map((place) => at(place, place.last)).join("L");
  const above = drawn.map((place) => at(place, place.high));
  const below = drawn.map((place) => at(place, place.low)).reverse();
  return { line: `M${line}`, band: `M${[...above, ...below].join("L")}Z`, marks };
}

function placesOf(curve: Curve): Place[] {
  if (curve.points) {
    return curve.points.flatMap(([step, , value]) => {
      if (typeof step !== "number") return [];
      const finite = typeof value === "number" ? value : null;
      const hasNonfinite = finite === null;
      return [{ x: step, low: finite, high: finite, last: finite, hasNonfinite }];
    });
  }
  return (curve.buckets ?? []).flatMap((bucket) => {
    if (bucket.last_step === null) return [];
    const last = typeof bucket.last === "number" ? bucket.last : bucket.max;
    const hasNonfinite = bucket.nonfinite_count > 0;
    return [{ x: bucket.last_step, low: bucket.min, high: bucket.max, last, hasNonfinite }];
  });
}

function extreme(
  places: readonly Place[],
  side: "low" | "high",
  of: (one: number, other: number) => number,
): number | null {
  return places.reduce<number | null>((found, place) => {
    const value = place[side];
    if (value === null) return found;
    return found === null ? value : of(found, value);
  }, null);
}

/** Returns how far a value stands between two; halved, as the distance of huge ones is no number. */
function fraction(value: number, low: number, high: number): number {
  const range = high / 2 - low / 2;
  return range === 0 ? 0.5 : (value / 2 - low / 2) / range;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
