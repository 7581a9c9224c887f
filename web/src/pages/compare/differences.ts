/** Values side by side by key: params, tags, and the leaves of documents; pure. */
import type { Schemas } from "@/api/client";
import { shortNumber } from "@/base/numbers";
import { leavesOf } from "@/base/nested";

export type ComparedValue = Schemas["ComparedParam"];

/**
 * Returns documents side by side, by path.
 *
 * @param documents - One a run; `null`: the run has none.
 */
export function compared(documents: readonly unknown[]): ComparedValue[] {
  const all = documents.map((document) =>
    document === null || document === undefined
      ? new Map<string, string>()
      : new Map(leavesOf(document).map(([key, leaf]) => [key, textOf(leaf)])),
  );
  const keys = [...new Set(all.flatMap((leaves) => [...leaves.keys()]))].sort();
  return keys.map((key) => {
    const texts = all.map((leaves) => leaves.get(key) ?? null);
    return { key, texts, is_different: texts.some((text) => text !== texts[0]) };
  });
}

function textOf(leaf: unknown): string {
  return typeof leaf === "string" ? leaf : JSON.stringify(leaf);
}

/** Returns the rows that are shown, and how many are left out as they are the same in all runs. */
export function shownRows(
  rows: readonly ComparedValue[],
  isAllShown: boolean,
): { shown: ComparedValue[]; sameCount: number } {
  const different = rows.filter((row) => row.is_different);
  return {
    shown: isAllShown ? [...rows] : different,
    sameCount: rows.length - different.length,
  };
}

/** A number as programs write it, with a fraction that may be long. */
const FRACTION = /^[+-]?\d*\.\d+([eE][+-]?\d+)?$/;
const LONG = 9;

/**
 * Returns the values of a row as they are shown: long fractions with the digits that mean something,
 * unless two that differ would look the same then.
 */
export function shownTexts(texts: readonly (string | null)[]): (string | null)[] {
  const short = texts.map((text) =>
    text !== null && text.length > LONG && FRACTION.test(text) ? shortNumber(Number(text)) : text,
  );
  return new Set(short).size === new Set(texts).size ? short : [...texts];
}
