/** Fingers on a drawing: one reads values, two zoom and move what is seen. */
import type { Range } from "@/charts/scales";

/** Where two fingers are, as shares of the width; the left one first. */
export type Pair = readonly [left: number, right: number];

/** Fingers that are nearer tremble more than they move. */
const APART_MIN = 0.02;

/**
 * Returns what is seen when two fingers have moved: what lay under each of them lies there still, as
 * far as the limits let it.
 *
 * @param seen - What was seen when they came down, as places on the scale.
 */
export function pinched(seen: Range, { from, to }: { from: Pair; to: Pair }, limits: Range): Range {
  const width = seen[1] - seen[0];
  const apart = Math.max(APART_MIN, from[1] - from[0]) / Math.max(APART_MIN, to[1] - to[0]);
  const next = Math.min(width * apart, limits[1] - limits[0]);
  const held = seen[0] + ((from[0] + from[1]) / 2) * width;
  const start = held - ((to[0] + to[1]) / 2) * next;
  const low = Math.max(limits[0], Math.min(start, limits[1] - next));
  return [low, low + next];
}

interface Hearing {
  /** Where the drawing lies in its element, in pixels. */
  readonly box: () => { left: number; width: number };
  readonly onPoint: (share: number) => void;
  /** Two fingers came down. */
  readonly onBegin: () => void;
  readonly onMove: (pairs: { from: Pair; to: Pair }) => void;
}

/** Follows the fingers on an element until the function that it returns is called. */
export function followTouches(element: HTMLElement, hearing: Hearing): () => void {
  let from: Pair | null = null;
  const shareOf = (touch: Touch): number => {
    const { left, width } = hearing.box();
    return (touch.clientX - element.getBoundingClientRect().left - left) / width;
  };
  const pairOf = ({ touches }: TouchEvent): Pair | null => {
    const [one, other] = [touches[0], touches[1]];
    if (one === undefined || other === undefined) return null;
    const shares = [shareOf(one), shareOf(other)] as const;
    return shares[0] < shares[1] ? shares : [shares[1], shares[0]];
  };
  const onTouches = (event: TouchEvent): void => {
    from = event.touches.length === 2 ? pairOf(event) : null;
    if (from !== null) hearing.onBegin();
  };
  const onMove = (event: TouchEvent): void => {
    const [first] = event.touches;
    if (event.touches.length === 1 && first !== undefined) hearing.onPoint(shareOf(first));
    const to = pairOf(event);
    if (from === null || to === null) return;
    // Two fingers are ours: the page neither scrolls nor grows.
    event.preventDefault();
    hearing.onMove({ from, to });
  };
  const ends = ["touchstart", "touchend", "touchcancel"] as const;
  for (const name of ends) element.addEventListener(name, onTouches, { passive: true });
  element.addEventListener("touchmove", onMove, { passive: false });
  return () => {
    for (const name of ends) element.removeEventListener(name, onTouches);
    element.removeEventListener("touchmove", onMove);
  };
}
