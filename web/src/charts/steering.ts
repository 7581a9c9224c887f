/** What keys do to a drawing: the same as the pointer. */
import type { KeyboardEvent } from "react";
import { nearestEntry } from "@/charts/columns";
import type { ChartGroup } from "@/charts/group";
import { panned, zoomed, type Range } from "@/charts/scales";
import type { DrawnLine, View } from "@/charts/scene";

const ZOOM = 0.5;
const PAN = 0.25;

interface Steered {
  readonly lines: readonly DrawnLine[];
  readonly view: View;
  /** All that the axis has; zooming stays inside. */
  readonly whole: Range;
  readonly group: ChartGroup;
  /** The chart itself, as its group knows it. */
  readonly chart: string;
}

/** Does what a key asks for. */
export function steer(event: KeyboardEvent, steered: Steered): void {
  const { group, view, whole, lines, chart } = steered;
  const seen: Range = [view.xScale.from(view.x[0]), view.xScale.from(view.x[1])];
  const middle = (seen[0] + seen[1]) / 2;
  const around =
    group.hover !== null && group.hover >= seen[0] && group.hover <= seen[1] ? group.hover : middle;
  const side = event.key === "ArrowLeft" ? -1 : 1;
  switch (event.key) {
    case "ArrowLeft":
    case "ArrowRight":
      if (event.shiftKey) group.zoomTo(panned(seen, side * PAN, whole));
      else group.pointAt(nextPlace(lines, group.hover, { side, seen }), chart);
      break;
    case "Home":
      group.pointAt(seen[0], chart);
      break;
    case "End":
      group.pointAt(seen[1], chart);
      break;
    case "+":
    case "=":
      group.zoomTo(zoomed(seen, around, ZOOM, whole));
      break;
    case "-":
      group.zoomTo(zoomed(seen, around, 1 / ZOOM, whole));
      break;
    case "0":
      group.zoomTo(null);
      break;
    case "Escape":
      if (group.told(chart) === null) return;
      group.pointAt(null, chart);
      break;
    default:
      return;
  }
  event.preventDefault();
  event.stopPropagation();
}

/** Returns the nearest place on one side where a line has an entry. */
function nextPlace(
  lines: readonly DrawnLine[],
  from: number | null,
  { side, seen }: { side: number; seen: Range },
): number {
  if (from === null) return side > 0 ? seen[0] : seen[1];
  let best = NaN;
  for (const { data } of lines) {
    const at = nearestEntry(data, from);
    for (const entry of [at - 1, at, at + 1]) {
      if (entry < 0 || entry >= data.length) continue;
      const place = data.lastX[entry] as number;
      const isFurther = side > 0 ? place > from : place < from;
      const isNearer = Number.isNaN(best) || Math.abs(place - from) < Math.abs(best - from);
      if (isFurther && isNearer && place >= seen[0] && place <= seen[1]) best = place;
    }
  }
  return Number.isNaN(best) ? from : best;
}
