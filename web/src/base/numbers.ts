/** Numbers as people read them: four significant digits, engineering suffixes. */

const SUFFIXES = ["", "k", "M", "G", "T", "P"] as const;

/**
 * Returns a value with as many digits as mean something.
 *
 * @param value - Any number; `null` is a value that is missing, and NaN and the infinities have words.
 */
export function shortNumber(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (Number.isNaN(value)) return "NaN";
  if (value === Infinity) return "∞";
  if (value === -Infinity) return "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 100_000) return minus(String(value));
  if (size < 1e-4 || size >= 1e18) return minus(value.toExponential(3).replace("e+", "e"));
  if (size < 100_000) return minus(trimmed(value.toPrecision(4)));
  // The order is that of the rounded value: 999 999 is 1M.
  const rounded = Number(value.toPrecision(4));
  const order = Math.min(Math.floor(Math.log10(Math.abs(rounded)) / 3 + 1e-9), SUFFIXES.length - 1);
  return minus(trimmed((rounded / 10 ** (3 * order)).toPrecision(4))) + (SUFFIXES[order] ?? "");
}

const NUMERAL = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

/** Returns whether a text is a number as programs write it, and nothing beside it. */
export function isNumeral(text: string): boolean {
  return NUMERAL.test(text);
}

/** Returns a count with separators: it is exact. */
export function wholeNumber(value: number): string {
  return value.toLocaleString("en-US").replaceAll(",", " ");
}

function trimmed(text: string): string {
  const plain = text.includes("e") ? String(Number(text)) : text;
  return plain.includes(".") ? plain.replace(/\.?0+$/, "") : plain;
}

function minus(text: string): string {
  return text.replace("-", "−").replace("e−", "e-");
}
