/**
 * From the entries of a curve to paths in pixels: the line through their ends, the band between
 * their extremes, and the places of what is not finite.
 *
 * A path is a flat list of x and y; a pair of NaN ends one piece of it.
 */
import { entriesIn, type Columns } from "@/charts/columns";
import type { Range, Scale } from "@/charts/scales";

export type Path = number[];

/** How values become pixels. */
export interface Projection {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
  /** The stretch of the axis that is seen. */
  readonly seen: Range;
}

/** Composes a scale with the way from its places to pixels. */
export function projected(scale: Scale, toPixel: (place: number) => number) {
  return (value: number): number => toPixel(scale.to(value));
}

/** Returns the entries to draw: those that are seen, and a neighbour on both sides. */
function drawn(columns: Columns, seen: Range): [number, number] {
  const [start, stop] = entriesIn(columns, seen[0], seen[1]);
  return [Math.max(0, start - 1), Math.min(columns.length, stop + 1)];
}

/** Adds a point to a path, or ends its piece where the point has no place. */
function add(path: Path, x: number, y: number): void {
  if (Number.isFinite(x) && Number.isFinite(y)) path.push(x, y);
  else endPiece(path);
}

function endPiece(path: Path): void {
  if (path.length > 0 && !Number.isNaN(path[path.length - 1])) path.push(NaN, NaN);
}

/** Returns the line through the first and the last value of each entry, broken where one is none. */
export function valueLine(columns: Columns, { x, y, seen }: Projection): Path {
  const path: Path = [];
  const [start, stop] = drawn(columns, seen);
  for (let at = start; at < stop; at++) {
    add(path, x(columns.firstX[at] as number), y(columns.first[at] as number));
    if ((columns.count[at] as number) > 1) {
      add(path, x(columns.lastX[at] as number), y(columns.last[at] as number));
    }
  }
  return path;
}

/** Returns the line through one value an entry; it goes on over entries that have none. */
export function smoothedLine(
  columns: Columns,
  values: Float64Array,
  { x, y, seen }: Projection,
): Path {
  const path: Path = [];
  const [start, stop] = drawn(columns, seen);
  for (let at = start; at < stop; at++) {
    const value = values[at] as number;
    if (Number.isNaN(value)) continue;
    add(path, x(columns.lastX[at] as number), y(value));
  }
  return path;
}

/**
 * Returns the outlines of the band between the extremes of buckets; each piece is to be closed.
 *
 * @param bottom - The pixel of the lower edge: an extreme that the scale has no place for lies there.
 */
export function envelope(columns: Columns, projection: Projection, bottom: number): Path {
  const path: Path = [];
  const [start, stop] = drawn(columns, projection.seen);
  let piece: Corner[] = [];
  const close = (): void => {
    for (const { x, top } of piece) path.push(x, top);
    for (const { x, floor } of piece.reverse()) path.push(x, floor);
    endPiece(path);
    piece = [];
  };
  for (let at = start; at < stop; at++) {
    const edges = bucketEdges(columns, at, projection, bottom);
    if (edges === null || (piece.length > 0 && isApart(columns, at))) close();
    if (edges !== null) piece.push(...edges);
  }
  close();
  return path;
}

interface Corner {
  readonly x: number;
  readonly top: number;
  readonly floor: number;
}

function bucketEdges(
  columns: Columns,
  at: number,
  { x, y }: Projection,
  bottom: number,
): [Corner, Corner] | null {
  if ((columns.count[at] as number) < 2) return null;
  const top = y(columns.high[at] as number);
  const low = y(columns.low[at] as number);
  const from = x(columns.firstX[at] as number);
  const to = x(columns.lastX[at] as number);
  if (!Number.isFinite(top) || !Number.isFinite(to)) return null;
  const floor = Number.isFinite(low) ? low : bottom;
  return [
    { x: Number.isFinite(from) ? from : to, top, floor },
    { x: to, top, floor },
  ];
}

/** Whether empty buckets lie between an entry and the one before it: then nothing is known there. */
function isApart(columns: Columns, at: number): boolean {
  const gap = (columns.firstX[at] as number) - (columns.lastX[at - 1] as number);
  const width = Math.max(
    (columns.lastX[at] as number) - (columns.firstX[at] as number),
    (columns.lastX[at - 1] as number) - (columns.firstX[at - 1] as number),
  );
  return gap > width;
}

/** Returns the places of points that stand alone or far enough apart to be seen one by one. */
export function singlePoints(columns: Columns, projection: Projection, distance: number): Path {
  const path: Path = [];
  const [start, stop] = drawn(columns, projection.seen);
  const place = (at: number): number => projection.x(columns.firstX[at] as number);
  const isSparse =
    stop - start < 2 || Math.abs(place(stop - 1) - place(start)) / (stop - start - 1) >= distance;
  for (let at = start; at < stop; at++) {
    if ((columns.count[at] as number) !== 1) continue;
    const isAlone =
      !hasValue(columns, at - 1, projection) && !hasValue(columns, at + 1, projection);
    if (!isSparse && !isAlone) continue;
    const y = projection.y(columns.first[at] as number);
    if (Number.isFinite(y) && Number.isFinite(place(at))) path.push(place(at), y);
  }
  return path;
}

function hasValue(columns: Columns, at: number, { x, y }: Projection): boolean {
  if (at < 0 || at >= columns.length) return false;
  return (
    Number.isFinite(x(columns.firstX[at] as number)) &&
    (Number.isFinite(y(columns.first[at] as number)) ||
      Number.isFinite(y(columns.last[at] as number)))
  );
}

export type MarkKind = "nan" | "plus" | "minus";

interface Mark {
  readonly kind: MarkKind;
  readonly x: number;
  /** The entry that it stands for; others of its kind may lie under it. */
  readonly entry: number;
}

/** Marks nearer than this to one of their kind are one. */
const MARK_DISTANCE = 3;

/** Returns where what is not finite is marked. */
export function nonfiniteMarks(columns: Columns, { x, seen }: Projection): Mark[] {
  const marks: Mark[] = [];
  const latest: Record<MarkKind, number> = { nan: -Infinity, plus: -Infinity, minus: -Infinity };
  const [start, stop] = entriesIn(columns, seen[0], seen[1]);
  for (let entry = start; entry < stop; entry++) {
    const counts: [MarkKind, number][] = [
      ["nan", columns.nans[entry] as number],
      ["plus", columns.plusInfinities[entry] as number],
      ["minus", columns.minusInfinities[entry] as number],
    ];
    for (const [kind, count] of counts) {
      if (count === 0) continue;
      const from = x(columns.firstX[entry] as number);
      const to = x(columns.lastX[entry] as number);
      const middle = (from + to) / 2;
      if (!Number.isFinite(middle) || middle - latest[kind] < MARK_DISTANCE) continue;
      latest[kind] = middle;
      marks.push({ kind, x: middle, entry });
    }
  }
  return marks;
}
