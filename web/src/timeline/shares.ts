/** Where the time went: by path, with what lies inside it and without. */
import type { Spans } from "@/timeline/spans";

export interface Share {
  path: string;
  count: number;
  /** Nanoseconds, with what lies inside. */
  total: number;
  /** Nanoseconds that no span inside has. */
  self: number;
  longest: number;
  /** Of the own times of all paths, 0 to 1. */
  share: number;
}

/** Returns the share of each path, the largest own time first. */
export function sharesOf(spans: Spans): Share[] {
  const { paths, lanes, start, end, path } = spans;
  const size = paths.length;
  const counts = new Float64Array(size);
  const totals = new Float64Array(size);
  const inside = new Float64Array(size);
  const longest = new Float64Array(size);
  for (const { rows } of lanes) {
    rows.forEach((row, depth) => {
      const above = depth === 0 ? undefined : rows[depth - 1];
      let at = 0;
      for (const index of row) {
        const from = start[index] ?? 0;
        const length = (end[index] ?? 0) - from;
        const number = path[index] ?? 0;
        counts[number] = (counts[number] ?? 0) + 1;
        totals[number] = (totals[number] ?? 0) + length;
        longest[number] = Math.max(longest[number] ?? 0, length);
        if (above === undefined) continue;
        // The span around it is the last one above that begins no later.
        while (at + 1 < above.length && (start[above[at + 1] ?? 0] ?? 0) <= from) at += 1;
        const parent = above[at];
        if (parent === undefined) continue;
        const isInside = (start[parent] ?? 0) <= from && from < (end[parent] ?? 0);
        if (!isInside) continue;
        const around = path[parent] ?? 0;
        const shared = Math.min(end[index] ?? 0, end[parent] ?? 0) - from;
        inside[around] = (inside[around] ?? 0) + shared;
      }
    });
  }
  const shares = paths.map((name, number) => ({
    path: name,
    count: counts[number] ?? 0,
    total: totals[number] ?? 0,
    // Tasks of one track may overlap: no time is less than none.
    self: Math.max(0, (totals[number] ?? 0) - (inside[number] ?? 0)),
    longest: longest[number] ?? 0,
    share: 0,
  }));
  const all = shares.reduce((sum, { self }) => sum + self, 0);
  for (const one of shares) one.share = all === 0 ? 0 : one.self / all;
  return shares.sort((one, other) => other.self - one.self);
}
