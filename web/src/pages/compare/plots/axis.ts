/** The place of a run's values on an axis of a plot; pure. */
import { LINEAR, LOG, padded, pixels, type Range } from "@/charts/scales";
import { linearTicks, logTicks, type Tick } from "@/charts/ticks";
import type { Field } from "@/pages/compare/plots/fields";

export interface Axis {
  field: Field;
  /** The place of each run in pixels; `null`: it has no value there. */
  places: (number | null)[];
  /** Marks, at pixels. */
  ticks: Tick[];
  isLog: boolean;
  /** Runs whose value is 0 or below, which a scale of logarithms has no place for. */
  hiddenCount: number;
}

/** Pixels between two marks at least: one above the other, and side by side. */
const MARK_PIXELS = { up: 44, across: 72 } as const;

/** Says whether a field can stand on a scale of logarithms. */
export function canBeLog(field: Field): boolean {
  return field.values.some((value) => typeof value === "number" && value > 0);
}

/**
 * Lays a field out between two pixels.
 *
 * @param start - Where the smallest value stands; the largest is at `start + length`, which may lie
 *   above it with a negative length.
 */
export function axisOf(
  field: Field,
  place: { start: number; length: number; isLog: boolean },
): Axis {
  const numbers = field.values.filter((value) => typeof value === "number");
  const isWords = field.values.some((value) => typeof value === "string");
  return isWords ? axisOfWords(field, place) : axisOfNumbers(field, numbers, place);
}

function axisOfWords(field: Field, { start, length }: { start: number; length: number }): Axis {
  const words = [...new Set(field.values.filter((value) => value !== null).map(String))].sort();
  const step = length / words.length;
  const at = (word: string): number => start + (words.indexOf(word) + 0.5) * step;
  return {
    field,
    places: field.values.map((value) => (value === null ? null : at(String(value)))),
    ticks: words.map((word) => ({ at: at(word), text: word })),
    isLog: false,
    hiddenCount: 0,
  };
}

function axisOfNumbers(
  field: Field,
  numbers: readonly number[],
  { start, length, isLog }: { start: number; length: number; isLog: boolean },
): Axis {
  const isLogShown = isLog && canBeLog(field);
  const scale = isLogShown ? LOG : LINEAR;
  const known = numbers.map(scale.to).filter((place) => !Number.isNaN(place));
  const range = padded(extentOf(known));
  const lay = pixels(range, start, length);
  const toPixel = (place: number): number => {
    const at = lay(place);
    // Numbers so near to 0 that their distance is none stand in one place.
    return Number.isNaN(at) ? start + length / 2 : at;
  };
  // An axis that goes up begins at its lower end, and runs against the pixels.
  const apart = length < 0 ? MARK_PIXELS.up : MARK_PIXELS.across;
  const countMax = Math.max(2, Math.floor(Math.abs(length) / apart));
  const ticks = isLogShown ? logTicks(range, countMax) : linearTicks(range, countMax);
  return {
    field,
    places: field.values.map((value) => {
      if (typeof value !== "number") return null;
      const place = scale.to(value);
      return Number.isNaN(place) ? null : toPixel(place);
    }),
    ticks: ticks.map(({ at, text }) => ({ at: toPixel(at), text })),
    isLog: isLogShown,
    hiddenCount: numbers.length - known.length,
  };
}

function extentOf(values: readonly number[]): Range {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [low, high];
}
