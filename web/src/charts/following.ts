/** The curves of a chart: loaded, detailed where one zooms, and followed while a run goes on. */
import { useQueries, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { appendPoints, lastStepOf, type CurveData } from "@/charts/columns";
import {
  curveKey,
  FIRST_STEP,
  KEPT_MS,
  readCurve,
  readNewer,
  type Axis,
  type SeriesName,
  type Stretch,
} from "@/charts/reading";
import type { Range } from "@/charts/scales";
import { spliced, stepsToAsk } from "@/charts/stretches";

/** What is known of a series without its points; as it grows, the curve does. */
interface Head {
  /** Points that can be read. */
  readonly count: number;
  readonly lastStep: number | null;
  readonly last: number;
  /** Of the finite values; null without any. */
  readonly min: number | null;
  readonly max: number | null;
}

/** A line of a chart. */
export interface LineSource extends SeriesName {
  /** Tells it apart from the others of its chart. */
  readonly id: string;
  readonly name: string;
  /** The number of its colour. */
  readonly colour: number;
  readonly head: Head | null;
}

export interface LoadedLine {
  readonly source: LineSource;
  /** Null: not yet. */
  readonly data: CurveData | null;
  readonly overview: CurveData | null;
  readonly error: unknown;
  readonly isLoading: boolean;
}

interface Wanted {
  readonly axis: Axis;
  /** What is zoomed to; null: all. */
  readonly seen: Range | null;
  readonly buckets: number;
}

/** New points are asked for at most this often. */
const FOLLOW_MS = 1_000;

function wholeStretch({ axis, buckets }: Wanted): Stretch {
  return { axis, from: FIRST_STEP, to: null, buckets };
}

interface Answer {
  data: CurveData | null;
  error: unknown;
  isFetching: boolean;
}

const combine = (
  answers: { data: CurveData | undefined; error: unknown; isFetching: boolean }[],
): Answer[] =>
  answers.map(({ data, error, isFetching }) => ({ data: data ?? null, error, isFetching }));

const RULES = {
  // What grows is followed by its head; what does not stays.
  staleTime: Infinity,
  gcTime: KEPT_MS,
  structuralSharing: false,
} as const;

/** Returns the curves of lines, as far as they are there. */
export function useCurves(sources: readonly LineSource[], wanted: Wanted): LoadedLine[] {
  const overviews = useQueries({
    queries: sources.map((source) => {
      const stretch = wholeStretch(wanted);
      return {
        ...RULES,
        queryKey: curveKey(source, stretch),
        queryFn: ({ signal }: { signal: AbortSignal }) => readCurve(source, stretch, signal),
      };
    }),
    combine,
  });
  const { seen } = wanted;
  const asked = useMemo(
    () =>
      overviews.map(({ data }) =>
        data === null || data.isExact || seen === null ? null : stepsToAsk(data, seen),
      ),
    [overviews, seen],
  );
  const details = useQueries({
    queries: sources.map((source, at) => {
      const steps = asked[at] ?? null;
      const stretch = { ...wholeStretch(wanted), from: steps?.[0] ?? 0, to: steps?.[1] ?? 0 };
      return {
        ...RULES,
        enabled: steps !== null,
        queryKey: curveKey(source, stretch),
        queryFn: ({ signal }: { signal: AbortSignal }) => readCurve(source, stretch, signal),
      };
    }),
    combine,
  });
  useFollowing(sources, wanted, overviews);
  return useMemo(
    () =>
      sources.map((source, at) => {
        const overview = overviews[at]?.data ?? null;
        const detail = details[at]?.data ?? null;
        const steps = asked[at] ?? null;
        const isDetailed = overview !== null && detail !== null && steps !== null;
        return {
          source,
          overview,
          data: isDetailed ? spliced(overview, detail, steps) : overview,
          error: overview === null ? overviews[at]?.error : (details[at]?.error ?? null),
          isLoading:
            (overview === null && overviews[at]?.isFetching === true) ||
            (steps !== null && detail === null && details[at]?.isFetching === true),
        };
      }),
    [sources, overviews, details, asked],
  );
}

/** Asks for what is new of the lines whose heads are ahead of their curves. */
function useFollowing(
  sources: readonly LineSource[],
  wanted: Wanted,
  overviews: readonly Answer[],
): void {
  const client = useQueryClient();
  const latest = useRef(0);
  const { axis, buckets } = wanted;
  useEffect(() => {
    const behind = sources.filter((source, at) => isBehind(source, overviews[at]?.data ?? null));
    if (behind.length === 0) return;
    const timer = setTimeout(
      () => {
        latest.current = Date.now();
        const stretch = wholeStretch({ axis, buckets, seen: null });
        for (const source of behind) void catchUp(client, source, stretch);
      },
      Math.max(0, latest.current + FOLLOW_MS - Date.now()),
    );
    return () => {
      clearTimeout(timer);
    };
  }, [client, sources, overviews, axis, buckets]);
}

/** Whether a series has other points than its curve. */
function isBehind(source: Pick<LineSource, "head" | "attempt">, known: CurveData | null) {
  const { head, attempt } = source;
  if (head === null || known === null || head.lastStep === null) return false;
  // Of one attempt no head says how many there are.
  return head.lastStep > lastStepOf(known) || (attempt === null && head.count !== known.total);
}

/** What was read anew for the same count of points stays as it is: more of them cannot be had. */
const readFor = new WeakMap<CurveData, number>();
/** Curves whose newer points are on their way: a server that is slow is not asked for them again. */
const behindNow = new WeakSet<CurveData>();

async function catchUp(client: QueryClient, source: LineSource, stretch: Stretch): Promise<void> {
  const key = curveKey(source, stretch);
  const known = client.getQueryData<CurveData>(key);
  if (known === undefined || client.isFetching({ queryKey: key, exact: true }) > 0) return;
  const count = source.head?.count ?? 0;
  if (readFor.get(known) === count || behindNow.has(known)) return;
  behindNow.add(known);
  try {
    if (await isCaughtUp(client, source, { stretch, known })) return;
    await client.refetchQueries({ queryKey: key, exact: true });
  } finally {
    behindNow.delete(known);
  }
  const anew = client.getQueryData<CurveData>(key);
  if (anew !== undefined) readFor.set(anew, count);
}

/** Puts what is newer behind a curve; false where all of it is to be read. */
async function isCaughtUp(
  client: QueryClient,
  source: LineSource,
  about: { stretch: Stretch; known: CurveData },
): Promise<boolean> {
  const { stretch, known } = about;
  const isMetric = !["step", "time", "run_time"].includes(stretch.axis);
  const isFull = known.length > 2 * stretch.buckets;
  if (isMetric || isFull) return false;
  try {
    const newer = await readNewer(source, lastStepOf(known), {
      axis: stretch.axis,
      limit: stretch.buckets,
    });
    // Another attempt wrote them.
    if (newer?.length === 0 && source.attempt !== null) return true;
    const joined = newer === null || newer.length === 0 ? null : appendPoints(known, newer);
    if (joined === null) return false;
    const key = curveKey(source, stretch);
    if (client.getQueryData<CurveData>(key) === known) client.setQueryData(key, joined);
    return true;
  } catch {
    // What fails again is shown in the place of the line.
    return false;
  }
}
