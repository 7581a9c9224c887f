/** Sizes in bytes as people read them. */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

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
