/** The values of the cells of a table, as text: whatever kind of column they stand in. */
import { isNumeral, shortNumber } from "@/base/numbers";
import { duration, localTime, utcTime } from "@/base/times";
import type { ColumnLook } from "@/pages/runs/columns";
import type { RunRow } from "@/pages/runs/merging";

export type CellValue = number | string | null;

/** How a value is shown. */
interface Shown {
  text: string;
  /** What a pointer over it reads: all digits, another zone, the whole text. */
  title: string;
  isNumber: boolean;
  /** NaN and the infinities are marked: they are no numbers to compare. */
  isNonfinite: boolean;
  isMissing: boolean;
}

const NONFINITE: Record<string, number> = { NaN, Infinity, "-Infinity": -Infinity };

/** Returns the value of a column in a row; `at` is its place among the values that were asked for. */
export function valueOf(row: RunRow, look: ColumnLook, at: number | undefined): CellValue {
  switch (look.text) {
    case "id":
    case "name":
    case "kind":
    case "status":
    case "user":
    case "created":
    case "started":
    case "finished":
      return row[look.text];
    default:
      return at === undefined ? null : (row.values?.[at] ?? null);
  }
}

/**
 * Returns how long a run has lasted.
 *
 * @param told - What the server said when it answered; null where that is not known.
 * @param now - In milliseconds: a run that goes on has lasted up to now.
 */
export function secondsOf(row: RunRow, told: CellValue, now: number): number | null {
  if (row.finished === null && row.status === "running" && row.started !== null) {
    return Math.max(0, (now - Date.parse(row.started)) / 1000);
  }
  return typeof told === "number" ? told : null;
}

/** Returns whether a column's values stand at the right: of params and tags, where all are numbers. */
export function isRight(
  look: ColumnLook,
  at: number | undefined,
  rows: readonly RunRow[],
): boolean {
  if (look.kind !== "value" || at === undefined) return look.isRight;
  const values = rows.flatMap((row) => row.values?.[at] ?? []);
  return (
    values.length > 0 && values.every((value) => typeof value === "number" || isNumeral(value))
  );
}

export function shown(value: CellValue, look: ColumnLook): Shown {
  const plain = { isNumber: false, isNonfinite: false, isMissing: false };
  if (value === null || value === "") {
    return { ...plain, text: value === null ? "–" : "", title: "", isMissing: true };
  }
  if (look.kind === "number" || typeof value === "number") {
    const number = typeof value === "number" ? value : (NONFINITE[value] ?? Number(value));
    const text = look.kind === "duration" ? duration(number) : shortNumber(number);
    const isNonfinite = !Number.isFinite(number);
    return { ...plain, text, title: String(value), isNumber: true, isNonfinite };
  }
  if (look.kind === "time") {
    return { ...plain, text: localTime(value), title: utcTime(value) };
  }
  // A param is shown as it was written, but for digits that nobody reads.
  const isNumber = look.kind === "value" && isNumeral(value);
  const text = isNumber && value.length > 9 ? shortNumber(Number(value)) : value;
  return { ...plain, text, title: value, isNumber };
}
