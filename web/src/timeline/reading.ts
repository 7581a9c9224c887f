/** Reads the spans of a run page by page; what has come is drawn while the rest is on its way. */
import { useCallback, useEffect, useReducer } from "react";
import { api, bodyOf } from "@/api/client";
import { AGAIN_MS, mayPass } from "@/state/answers";
import { type RawSpan, type Spans, spansOf } from "@/timeline/spans";

/** The largest page that the server gives. */
const PAGE = 5_000;
/** More are not drawn: about the budget of a run, and what a browser holds with ease. */
export const SPANS_MAX = 250_000;
/** Columns are made anew when this much more has come: not for each of 50 pages. */
const GROWTH = 1.5;

interface Reading {
  spans: Spans | null;
  isReading: boolean;
  /** There are more than are drawn. */
  isCut: boolean;
  prunedCount: number;
  error: Error | null;
}

const NOTHING: Reading = {
  spans: null,
  isReading: true,
  isCut: false,
  prunedCount: 0,
  error: null,
};

/** Returns the spans, and how to read them anew. */
export function useSpans(run: string): Reading & { again: () => void } {
  const [state, tell] = useReducer(
    (known: Reading, news: Partial<Reading>) => ({ ...known, ...news }),
    NOTHING,
  );
  const [round, again] = useReducer((count: number) => count + 1, 0);
  const read = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      tell({ isReading: true, error: null });
      const found: RawSpan[] = [];
      let drawn = 0;
      let cursor: string | undefined;
      try {
        do {
          const page = bodyOf(
            await api.GET("/v1/runs/{run}/spans", {
              params: {
                path: { run },
                query: { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
              },
              signal,
            }),
          );
          if (signal.aborted) return;
          for (const span of page.spans) found.push(span);
          cursor = page.next_cursor ?? undefined;
          const isEnd = cursor === undefined || found.length >= SPANS_MAX;
          if (isEnd || found.length >= drawn * GROWTH) {
            drawn = found.length;
            tell({ spans: spansOf(found), prunedCount: page.pruned_count ?? 0 });
          }
        } while (cursor !== undefined && found.length < SPANS_MAX);
        tell({ isReading: false, isCut: cursor !== undefined });
      } catch (error) {
        if (signal.aborted) return;
        tell({
          isReading: false,
          error: error instanceof Error ? error : new Error(String(error)),
          ...(found.length > drawn ? { spans: spansOf(found) } : {}),
        });
      }
    },
    [run],
  );
  useEffect(() => {
    const controller = new AbortController();
    void read(controller.signal);
    return () => {
      controller.abort();
    };
  }, [read, round]);
  const { error } = state;
  useEffect(() => {
    if (!mayPass(error)) return;
    const timer = window.setTimeout(again, AGAIN_MS);
    return () => {
      window.clearTimeout(timer);
    };
  }, [error]);
  return { ...state, again };
}
