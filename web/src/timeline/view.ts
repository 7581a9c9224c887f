/** What part of the time is in sight, and which rectangles that makes: pure. */
import type { Spans } from "@/timeline/spans";

/** Nanoseconds since the first span. */
export interface View {
  from: number;
  to: number;
}

/** Closer than this a nanosecond is wider than a hand. */
const WIDTH_MIN = 100;

/** Returns a view that lies within the spans, as wide as it was where it can be. */
export function clampView(view: View, length: number): View {
  const whole = Math.max(length, WIDTH_MIN);
  const width = Math.min(Math.max(view.to - view.from, WIDTH_MIN), whole);
  const from = Math.min(Math.max(view.from, 0), whole - width);
  return { from, to: from + width };
}

/** Returns a view that is `factor` times as wide, with `at` where it was. */
export function zoomed(view: View, at: number, factor: number): View {
  return { from: at - (at - view.from) * factor, to: at + (view.to - at) * factor };
}

export function moved(view: View, by: number): View {
  return { from: view.from + by, to: view.to + by };
}

/** Returns the first place of a row whose span ends behind a moment. */
export function firstEndingAfter(row: Uint32Array, end: Float64Array, moment: number): number {
  let low = 0;
  let high = row.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((end[row[middle] ?? 0] ?? 0) > moment) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Calls `draw` with the spans of a row that are in sight, at most about one a pixel: of those that
 * lie in the same pixel the first stands for all.
 */
export function eachVisible(
  spans: Pick<Spans, "start" | "end">,
  row: Uint32Array,
  sight: View & { pixels: number },
  draw: (index: number, left: number, width: number, isOne: boolean) => void,
): void {
  const perPixel = (sight.to - sight.from) / sight.pixels;
  let at = firstEndingAfter(row, spans.end, sight.from);
  while (at < row.length) {
    const index = row[at] ?? 0;
    const start = spans.start[index] ?? 0;
    if (start >= sight.to) return;
    const left = (start - sight.from) / perPixel;
    const right = ((spans.end[index] ?? 0) - sight.from) / perPixel;
    const width = Math.max(right - left, 1);
    let next = at + 1;
    if (right - left < 1) {
      // All that end within this pixel are behind the same mark.
      next = Math.max(next, firstEndingAfter(row, spans.end, start + perPixel));
    }
    draw(index, left, width, next === at + 1);
    at = next;
  }
}

/** Returns the span of a row at a moment; null: there is none within `slack`. */
export function spanAt(
  spans: Pick<Spans, "start" | "end">,
  row: Uint32Array,
  moment: number,
  slack: number,
): number | null {
  const index = row[firstEndingAfter(row, spans.end, moment - slack)];
  if (index === undefined) return null;
  return (spans.start[index] ?? 0) <= moment + slack ? index : null;
}

/** Returns round moments for the axis, at most about `count`. */
export function ticksOf(view: View, count: number): number[] {
  const rough = (view.to - view.from) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10) * power;
  const found: number[] = [];
  for (let at = Math.ceil(view.from / step); at * step <= view.to; at += 1) found.push(at * step);
  return found;
}
