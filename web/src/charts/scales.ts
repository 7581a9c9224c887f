/** Linear and logarithmic scales, and the stretch of values that a chart shows. */

export interface Scale {
  readonly kind: "linear" | "log";
  /** Returns the place of a value; NaN where the scale has none for it. */
  readonly to: (value: number) => number;
  readonly from: (place: number) => number;
}

export type Range = readonly [low: number, high: number];

export const LINEAR: Scale = { kind: "linear", to: (value) => value, from: (place) => place };
export const LOG: Scale = {
  kind: "log",
  to: (value) => (value > 0 ? Math.log10(value) : NaN),
  from: (place) => 10 ** place,
};

/** A stretch with room around it, so that no line lies on an edge; of one value, with it inside. */
export function padded([low, high]: Range, share = 0.05): Range {
  if (!(low <= high)) return [0, 1];
  if (low === high) {
    const room = low === 0 ? 1 : Math.abs(low) * 0.1;
    return [low - room, high + room];
  }
  // Halves, as the difference of two large numbers may be none.
  const room = (high / 2 - low / 2) * 2 * share;
  return Number.isFinite(room) ? [low - room, high + room] : [low, high];
}

/** Returns a stretch moved by a share of its width, within limits if it fits there. */
export function panned([low, high]: Range, share: number, limits: Range): Range {
  const width = high - low;
  const start = Math.max(limits[0], Math.min(low + width * share, limits[1] - width));
  return [start, start + width];
}

/** Returns a stretch narrowed or widened around a place in it, within limits. */
export function zoomed([low, high]: Range, around: number, factor: number, limits: Range): Range {
  const from = Math.max(limits[0], around - (around - low) * factor);
  const to = Math.min(limits[1], around + (high - around) * factor);
  return to > from ? [from, to] : [low, high];
}

/**
 * Maps places of a stretch to pixels; beyond a few screens they are cut, as a canvas needs. What is
 * not finite has no pixel.
 */
export function pixels(range: Range, start: number, length: number): (place: number) => number {
  const [low, high] = range;
  const width = high - low || 1;
  // Of two places whose distance is beyond the greatest number the halves are taken.
  const share = Number.isFinite(width)
    ? (place: number): number => (place - low) / width
    : (place: number): number => (place / 2 - low / 2) / (high / 2 - low / 2);
  const far = 20 * Math.abs(length) + 1_000;
  return (place) => {
    if (!Number.isFinite(place)) return NaN;
    // A share, not a factor: of a very narrow stretch that would be infinite.
    const at = start + share(place) * length;
    return at > far ? far : at < -far ? -far : at;
  };
}
