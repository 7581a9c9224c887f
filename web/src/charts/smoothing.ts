/**
 * The exponential moving average of a curve, without the pull of its start towards zero.
 *
 * A bucket of n points moves the average as n points of its mean would: so an average of buckets is
 * nearly the one of the points behind them, and zooming in does not change the smoothing.
 */
import type { Columns } from "@/charts/columns";

/** The weights that a reader chooses from; 1 / (1 − weight) is about how many points count. */
export const WEIGHTS = [0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999] as const;

/** How far an average has come: the sum so far, and the share of it that real points have. */
interface Average {
  readonly sum: number;
  readonly share: number;
}

export const NO_AVERAGE: Average = { sum: 0, share: 0 };

/** Returns an average after one more entry; what is not finite does not move it. */
function next(average: Average, entry: { mean: number; count: number }, weight: number): Average {
  if (!Number.isFinite(entry.mean) || entry.count <= 0) return average;
  const kept = weight ** entry.count;
  return {
    sum: kept * average.sum + (1 - kept) * entry.mean,
    share: kept * average.share + (1 - kept),
  };
}

function entryAt(columns: Columns, at: number): { mean: number; count: number } {
  const nonfinite =
    (columns.nans[at] as number) +
    (columns.plusInfinities[at] as number) +
    (columns.minusInfinities[at] as number);
  return { mean: columns.mean[at] as number, count: (columns.count[at] as number) - nonfinite };
}

/**
 * Returns the average after each entry; NaN where the entry has no finite value.
 *
 * @param weight - What the past keeps at each point, 0 to below 1.
 * @param before - Where the average stands before the first entry.
 */
export function smooth(columns: Columns, weight: number, before = NO_AVERAGE): Float64Array {
  const smoothed = new Float64Array(columns.length);
  let average = before;
  for (let at = 0; at < columns.length; at++) {
    const entry = entryAt(columns, at);
    average = next(average, entry, weight);
    smoothed[at] = Number.isFinite(entry.mean) ? average.sum / average.share : NaN;
  }
  return smoothed;
}

/** Returns where the average of a curve stands behind its entries that end before a step. */
export function averageBefore(columns: Columns, weight: number, step: number): Average {
  let average = NO_AVERAGE;
  for (let at = 0; at < columns.length; at++) {
    if ((columns.lastStep[at] as number) >= step) continue;
    average = next(average, entryAt(columns, at), weight);
  }
  return average;
}
