/** Goes from one span to another, for those who use keys: along a row, out of a span and into it. */
import type { Spans } from "@/timeline/spans";
import { firstEndingAfter } from "@/timeline/view";

export type Way = "before" | "behind" | "around" | "inside";

/** Returns the span in a direction; the same one where there is none. */
export function spanTowards(spans: Spans, from: number | null, way: Way): number | null {
  if (from === null) return spans.lanes[0]?.rows.find((row) => row.length > 0)?.[0] ?? null;
  const rows = spans.lanes[spans.lane[from] ?? 0]?.rows ?? [];
  const depth = spans.depth[from] ?? 0;
  const start = spans.start[from] ?? 0;
  const end = spans.end[from] ?? 0;
  if (way === "before" || way === "behind") {
    const row = rows[depth];
    const at = row?.indexOf(from) ?? -1;
    return row?.[at + (way === "behind" ? 1 : -1)] ?? from;
  }
  const row = rows[way === "around" ? depth - 1 : depth + 1];
  if (row === undefined) return from;
  const found = row[firstEndingAfter(row, spans.end, start)];
  if (found === undefined) return from;
  const isThere =
    way === "around" ? (spans.start[found] ?? 0) <= start : (spans.start[found] ?? 0) < end;
  return isThere ? found : from;
}
