/** Which steps a zoom asks for, and how what it gets goes into the curve that is there. */
import { lastStepOf, stepsIn, type Columns, type CurveData } from "@/charts/columns";
import type { Range } from "@/charts/scales";

/** A part of a curve is asked for in units of its width's 16th, so that a small move asks nothing. */
const UNITS = 16;

/**
 * Returns the steps, both included, that show a stretch of the axis exactly; null where the curve
 * has none there. They reach a little further on both sides, so that lines go on to the edges.
 */
export function stepsToAsk(overview: CurveData, seen: Range): [number, number] | null {
  const steps = stepsIn(overview, seen[0], seen[1]);
  if (steps === null) return null;
  // Steps within an entry go evenly along it; of an entry that is cut by an edge only a part is seen.
  const from = stepAt(overview, seen[0]) ?? steps[0];
  const to = stepAt(overview, seen[1]) ?? steps[1];
  const [low, high] = isByStep(overview)
    ? [Math.max(steps[0], from), Math.min(steps[1], to)]
    : steps;
  const unit = Math.max(1, 2 ** Math.ceil(Math.log2((high - low + 1) / UNITS)));
  const first = Math.max(0, (Math.floor(low / unit) - 1) * unit);
  return [first, (Math.ceil(high / unit) + 1) * unit];
}

/** Whether the axis is the step itself. */
function isByStep(columns: Columns): boolean {
  const end = columns.length - 1;
  return columns.firstX[0] === columns.firstStep[0] && columns.lastX[end] === columns.lastStep[end];
}

function stepAt(columns: Columns, x: number): number | null {
  return isByStep(columns) ? Math.round(x) : null;
}

/**
 * Returns a part of a curve with what is known around it: the entries of the overview that lie
 * wholly before it, and those wholly behind what it has.
 *
 * @param asked - The steps that the part was asked for.
 */
export function spliced(
  overview: CurveData,
  part: CurveData,
  asked: readonly [number, number],
): CurveData {
  if (part.length === 0) return overview;
  const latest = lastStepOf(part);
  const before = prefix(overview, asked[0]);
  const after = suffix(overview, latest);
  const joined = [slice(overview, 0, before), part, slice(overview, after, overview.length)];
  const columns = joinColumns(joined);
  // Where steps do not go along the axis, the part stands alone.
  if (!isAscending(columns.firstX)) return part;
  return {
    ...columns,
    total: overview.total,
    withoutX: overview.withoutX,
    leftOut: overview.leftOut,
    isExact: part.isExact,
    pruned: overview.pruned,
  };
}

function prefix(columns: Columns, step: number): number {
  let at = 0;
  while (at < columns.length && (columns.lastStep[at] as number) < step) at++;
  return at;
}

function suffix(columns: Columns, step: number): number {
  let at = columns.length;
  while (at > 0 && (columns.firstStep[at - 1] as number) > step) at--;
  return at;
}

function isAscending(column: Float64Array): boolean {
  for (let at = 1; at < column.length; at++) {
    if ((column[at] as number) < (column[at - 1] as number)) return false;
  }
  return true;
}

type ColumnName = Exclude<keyof Columns, "length">;

function columnNames(columns: Columns): ColumnName[] {
  return (Object.keys(columns) as (keyof Columns)[]).filter(
    (name): name is ColumnName => columns[name] instanceof Float64Array,
  );
}

function slice(columns: Columns, start: number, stop: number): Columns {
  const end = Math.max(start, stop);
  const cut = columnNames(columns).map((name) => [name, columns[name].subarray(start, end)]);
  return { ...(Object.fromEntries(cut) as Record<ColumnName, Float64Array>), length: end - start };
}

function joinColumns(parts: readonly Columns[]): Columns {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const first = parts[0] as Columns;
  const joined = columnNames(first).map((name) => {
    const column = new Float64Array(length);
    let at = 0;
    for (const part of parts) {
      column.set(part[name], at);
      at += part.length;
    }
    return [name, column];
  });
  return { ...(Object.fromEntries(joined) as Record<ColumnName, Float64Array>), length };
}
