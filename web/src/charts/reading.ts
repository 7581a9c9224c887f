/** The points of curves, as the server has them; kept for a while. */
import { api, ApiError, bodyOf, type Schemas } from "@/api/client";
import { dataFromCurve, type CurveData } from "@/charts/columns";
import { newestOf } from "@/charts/newest";

/** One series of one run. */
export interface SeriesName {
  readonly run: string;
  readonly key: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Null: each step from its newest attempt. */
  readonly attempt: number | null;
}

/** What curves are drawn over: `step`, `time`, `run_time`, or a series such as `epoch{split=val}`. */
export type Axis = string;

/** Which points of a series. */
export interface Stretch {
  readonly axis: Axis;
  /** The first and the last step, both included. */
  readonly from: number;
  readonly to: number | null;
  readonly buckets: number;
}

/**
 * A curve that nobody looks at any more is kept for a little: rows come back when one scrolls. Longer,
 * and who scrolls through thousands of charts would fill the memory: a curve takes up to 200 kB.
 */
export const KEPT_MS = 10_000;
/** Scalars are stored below all steps, and are no curve. */
export const FIRST_STEP = 0;

interface Asked {
  key: string;
  from: number;
  to?: number;
  attempt?: number;
  buckets?: number;
  x?: string;
  limit?: number;
  cursor?: string;
}

/** Asks for points; labels go as `label.NAME`, which no description of a query lists. */
async function ask(
  name: SeriesName,
  asked: Asked,
  signal?: AbortSignal,
): Promise<Schemas["Curve"]> {
  const labels = Object.fromEntries(
    Object.entries(name.labels).map(([label, value]) => [`label.${label}`, value]),
  );
  const answer = await api.GET("/v1/runs/{run}/metrics/points", {
    params: { path: { run: name.run }, query: { ...labels, ...asked } },
    ...(signal === undefined ? {} : { signal }),
  });
  // The client's types lose that a point is a triple.
  return bodyOf(answer) as Schemas["Curve"];
}

function about(name: SeriesName, axis: Axis): Pick<Asked, "key" | "attempt" | "x"> {
  return {
    key: name.key,
    ...(name.attempt === null ? {} : { attempt: name.attempt }),
    ...(axis === "step" ? {} : { x: axis }),
  };
}

/** Returns the key of a curve in the cache. */
export function curveKey(name: SeriesName, stretch: Stretch): readonly unknown[] {
  const { run, key, labels, attempt } = name;
  return ["curve", run, key, labels, attempt, stretch.axis, stretch];
}

/** So many buckets tell well enough where the newest points begin; the server gives no more. */
const BUCKETS_MAX = 4_000;

/**
 * Reads a curve: its points where they fit into the buckets, else the buckets. One that is too long
 * for another axis than steps has its newest points, and says how many are left out.
 */
export async function readCurve(
  name: SeriesName,
  stretch: Stretch,
  signal?: AbortSignal,
): Promise<CurveData> {
  const { axis, from, to, buckets } = stretch;
  const asked: Asked = { ...about(name, axis), from, buckets, ...(to === null ? {} : { to }) };
  try {
    return dataFromCurve(await ask(name, asked, signal));
  } catch (error) {
    if (axis === "step" || !isAboutAxis(error)) throw error;
    const bySteps = { ...asked, ...about(name, "step"), buckets: BUCKETS_MAX };
    delete bySteps.x;
    const newest = newestOf((await ask(name, bySteps, signal)).buckets ?? []);
    if (newest === null) throw error;
    const { from: first, leftOut, total } = newest;
    return { ...dataFromCurve(await ask(name, { ...asked, from: first }, signal)), leftOut, total };
  }
}

/** Whether the server cannot draw over the axis; one reason is that the curve is too long. */
function isAboutAxis(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    error.status === 422 &&
    (error.problem?.errors ?? []).some(({ pointer }) => pointer === "/query/x")
  );
}

/** Reads the points behind a step; null where there are more than so many. */
export async function readNewer(
  name: SeriesName,
  after: number,
  how: { axis: Axis; limit: number },
): Promise<CurveData | null> {
  const asked = { ...about(name, how.axis), from: after + 1, limit: how.limit };
  const curve = await ask(name, asked);
  return curve.next_cursor === null || curve.next_cursor === undefined
    ? dataFromCurve(curve)
    : null;
}

/** Most points of one page. */
const PAGE = 10_000;

interface ExactPoint {
  readonly step: number;
  /** Whole microseconds since 1970 UTC. */
  readonly time: number;
  readonly value: number | string;
}

/** Yields every point of a series as it was logged, by step, page by page. */
export async function* readExact(
  name: SeriesName,
  steps: { from: number; to: number | null } = { from: FIRST_STEP, to: null },
): AsyncGenerator<ExactPoint[]> {
  let cursor: string | null = null;
  do {
    const curve: Schemas["Curve"] = await ask(name, {
      ...about(name, "step"),
      from: steps.from,
      ...(steps.to === null ? {} : { to: steps.to }),
      limit: PAGE,
      ...(cursor === null ? {} : { cursor }),
    });
    yield (curve.points ?? []).map(([step, time, value]) => ({ step: step ?? -1, time, value }));
    cursor = curve.next_cursor ?? null;
  } while (cursor !== null);
}
