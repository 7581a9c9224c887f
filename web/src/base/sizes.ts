/** Sizes in bytes as people read them. */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** A number in one of the units, or none: bytes. */
const SIZE = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i;

/** Reads a size as `exactSizeText` writes it, and as people do; null: it is none. */
export function sizeFromText(text: string): number | null {
  const [, count, word] = SIZE.exec(text.trim().replace(/(\d)[\s_](?=\d)/g, "$1")) ?? [];
  if (count === undefined || word === undefined) return null;
  const at = UNITS.findIndex((unit) => unit.toLowerCase() === (word.toLowerCase() || "b"));
  const bytes = Number(count) * 1024 ** at;
  return at >= 0 && Number.isSafeInteger(bytes) ? bytes : null;
}

/** Returns a size with none of its bytes lost: in the largest unit that divides it. */
export function exactSizeText(bytes: number): string {
  let value = bytes;
  let at = 0;
  while (value > 0 && value % 1024 === 0 && at < UNITS.length - 1) {
    value /= 1024;
    at += 1;
  }
  return `${value} ${UNITS[at] ?? ""}`;
}

/** Returns a size in the largest unit that leaves at least 1, with three significant digits. */
export function sizeText(bytes: number): string {
  let value = bytes;
  let at = 0;
  while (value >= 1023.5 && at < UNITS.length - 1) {
    value /= 1024;
    at += 1;
  }
  const text = at === 0 || value >= 100 ? String(Math.round(value)) : value.toPrecision(3);
  return `${text.includes(".") ? text.replace(/\.?0+$/, "") : text} ${UNITS[at] ?? ""}`;
}
