/**
 * What a chart shows, as shapes in pixels: the same for the canvas of the page and for the files
 * that are saved.
 */
import type { CurveData } from "@/charts/columns";
import {
  envelope,
  nonfiniteMarks,
  projected,
  singlePoints,
  smoothedLine,
  valueLine,
  type MarkKind,
  type Path,
  type Projection,
} from "@/charts/polylines";
import { pixels, type Range, type Scale } from "@/charts/scales";

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Which part of the plane is seen: places on the scales. */
export interface View {
  readonly xScale: Scale;
  readonly yScale: Scale;
  readonly x: Range;
  readonly y: Range;
  /** Whether a value lies in it: else it has no numbers to tell. */
  readonly hasValues: boolean;
}

export interface DrawnLine {
  readonly name: string;
  readonly colour: string;
  readonly data: CurveData;
  /** One value an entry; null: not smoothed. */
  readonly smoothed: Float64Array | null;
  /** Whether another line is looked at. */
  readonly isFaint: boolean;
}

export type Shape =
  | { kind: "line"; path: Path; colour: string; width: number; alpha: number; isInside: boolean }
  | { kind: "area"; path: Path; colour: string; alpha: number }
  | { kind: "dots"; path: Path; colour: string; radius: number; alpha: number }
  | { kind: "mark"; mark: MarkKind; x: number; y: number; colour: string; alpha: number }
  | {
      kind: "text";
      text: string;
      x: number;
      y: number;
      colour: string;
      size: number;
      anchor: "start" | "middle" | "end";
    };

const LINE_WIDTH = 1.5;
/** Points this far apart are seen one by one. */
const DOT_DISTANCE = 12;
const FAINT = 0.2;

/** Returns how a view is laid over a box. */
function projection(view: View, box: Box): Projection {
  const x = pixels(view.x, box.left, box.width);
  const y = pixels(view.y, box.top + box.height, -box.height);
  return {
    x: projected(view.xScale, x),
    y: projected(view.yScale, y),
    seen: [view.xScale.from(view.x[0]), view.xScale.from(view.x[1])],
  };
}

/** Returns the shapes of lines, the first below the last. */
export function lineShapes(lines: readonly DrawnLine[], view: View, box: Box): Shape[] {
  const how = projection(view, box);
  const bottom = box.top + box.height;
  return lines.flatMap((line) => {
    const { data, colour, smoothed } = line;
    const alpha = line.isFaint ? FAINT : 1;
    const raw = smoothed === null ? alpha : alpha * 0.45;
    const band = envelope(data, how, bottom);
    const shapes: Shape[] = [];
    if (band.length > 0) {
      // Its outline too: a spike of one bucket is narrower than a pixel.
      shapes.push(
        { kind: "area", path: band, colour, alpha: raw * 0.25 },
        { kind: "line", path: band, colour, width: 1, alpha: raw * 0.4, isInside: true },
      );
    }
    const path = valueLine(data, how);
    shapes.push({ kind: "line", path, colour, width: LINE_WIDTH, alpha: raw, isInside: true });
    const dots = singlePoints(data, how, DOT_DISTANCE);
    if (dots.length > 0) shapes.push({ kind: "dots", path: dots, colour, radius: 2, alpha: raw });
    if (smoothed !== null) {
      const mean = smoothedLine(data, smoothed, how);
      shapes.push({ kind: "line", path: mean, colour, width: 2, alpha, isInside: true });
    }
    for (const { kind, x } of nonfiniteMarks(data, how)) {
      const y = kind === "plus" ? box.top + 5 : bottom - 5;
      shapes.push({ kind: "mark", mark: kind, x, y, colour, alpha });
    }
    return shapes;
  });
}

/** The corners of a mark around its middle, and whether they are filled or crossed. */
export function markCorners(
  kind: MarkKind,
  x: number,
  y: number,
): { path: Path; isFilled: boolean } {
  const size = 4;
  if (kind === "nan") {
    return {
      path: [
        x - size,
        y - size,
        x + size,
        y + size,
        NaN,
        NaN,
        x - size,
        y + size,
        x + size,
        y - size,
      ],
      isFilled: false,
    };
  }
  const tip = kind === "plus" ? -size : size;
  return { path: [x, y + tip, x + size, y - tip, x - size, y - tip], isFilled: true };
}

/** Returns how far along the seen part of the axis a place lies; null where it has none. */
export function shareOf(place: number | null, { x, xScale }: View): number | null {
  const at = place === null ? NaN : xScale.to(place);
  return Number.isFinite(at) ? (at - x[0]) / (x[1] - x[0]) : null;
}
