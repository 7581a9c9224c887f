/** Which points of a curve are drawn over another axis than steps, where all of them are too many. */
import type { Schemas } from "@/api/client";

/**
 * The server sorts a curve by its axis in memory, and takes a million points; a few less are asked
 * for, as a run may log meanwhile.
 */
const SORTED_MAX = 990_000;

interface Newest {
  /** The first step of those that are drawn. */
  readonly from: number;
  /** Points of lower steps. */
  readonly leftOut: number;
  readonly total: number;
}

/** Returns the newest points that are not too many; null where all of them are few enough. */
export function newestOf(
  buckets: readonly Pick<Schemas["Bucket"], "first_step" | "count">[],
  countMax = SORTED_MAX,
): Newest | null {
  const total = buckets.reduce((sum, { count }) => sum + count, 0);
  if (total <= countMax) return null;
  let drawn = 0;
  let from: number | null = null;
  for (const { first_step: first, count } of [...buckets].reverse()) {
    if (drawn + count > countMax || first === null) break;
    drawn += count;
    from = first;
  }
  return from === null ? null : { from, leftOut: total - drawn, total };
}
