/**
 * The log of a run as far as it was read: a stretch of lines that grows at both ends.
 *
 * A log has up to 100 000 lines and more, so it is no cached answer that is read anew: older lines are
 * asked for when somebody scrolls to them, newer ones when the run says that there are some.
 */
import { useCallback, useEffect, useReducer, useRef } from "react";
import { api, bodyOf, type Schemas } from "@/api/client";
import { AGAIN_MS, mayPass } from "@/state/answers";
import { runStream, useStream } from "@/state/events";

export type LogLine = Schemas["LogLineFacts"];

/** The largest page that the server gives. */
const PAGE = 1_000;
/** The server ends a page behind 8 MiB; a letter takes at most 4 bytes. */
const PAGE_LETTERS = 1 << 20;
/** New lines are asked for at most so often. */
const REFRESH_MS = 400;

interface LogFilter {
  level: Schemas["LogLevel"];
  text: string;
  /** Where reading begins: at the newest lines, or at the first. */
  from: "newest" | "first";
}

interface LogState {
  lines: readonly LogLine[];
  /** Nothing was read yet. */
  isFirst: boolean;
  hasEarlier: boolean;
  hasLater: boolean;
  prunedCount: number;
  error: Error | null;
}

export const NOTHING_READ: LogState = {
  lines: [],
  isFirst: true,
  hasEarlier: true,
  hasLater: true,
  prunedCount: 0,
  error: null,
};

type LogNews =
  | { type: "clear" }
  | { type: "later" | "earlier"; lines: readonly LogLine[]; prunedCount: number; isEnd: boolean }
  | { type: "failed"; error: Error };

/** Returns the state after an answer. Lines that are known already are not shown twice. */
export function withNews(state: LogState, news: LogNews): LogState {
  if (news.type === "clear") return NOTHING_READ;
  if (news.type === "failed") return { ...state, error: news.error };
  const first = state.lines[0];
  const last = state.lines.at(-1);
  const known = { ...state, isFirst: false, prunedCount: news.prunedCount, error: null };
  if (news.type === "later") {
    const fresh = last === undefined ? news.lines : news.lines.filter(({ id }) => id > last.id);
    return {
      ...known,
      lines: fresh.length === 0 ? state.lines : [...state.lines, ...fresh],
      hasLater: !news.isEnd,
    };
  }
  const fresh = first === undefined ? news.lines : news.lines.filter(({ id }) => id < first.id);
  return {
    ...known,
    lines: fresh.length === 0 ? state.lines : [...fresh, ...state.lines],
    hasEarlier: !news.isEnd,
    // The newest lines were just read.
    hasLater: first === undefined ? false : state.hasLater,
  };
}

/** Says whether no more lines follow a page: the server ends one early only for its bytes. */
export function isLastPage(lines: readonly LogLine[]): boolean {
  if (lines.length >= PAGE) return false;
  let size = 0;
  for (const { message, fields } of lines) {
    size += message.length + (fields == null ? 0 : JSON.stringify(fields).length);
  }
  return size < PAGE_LETTERS;
}

export interface Log extends LogState {
  isReading: boolean;
  readEarlier: () => void;
  readLater: () => void;
  retry: () => void;
}

export function useLog(run: string, filter: LogFilter): Log {
  const { level, text, from } = filter;
  const [state, tell] = useReducer(withNews, NOTHING_READ);
  const [isReading, setReading] = useReducer((_: boolean, to: boolean) => to, false);
  const [isOwed, setOwed] = useReducer((_: boolean, to: boolean) => to, false);
  const current = useRef({
    state,
    controller: null as AbortController | null,
    isOwed: false,
    failed: null as "earlier" | "later" | null,
  });
  useEffect(() => {
    current.current.state = state;
  }, [state]);

  const read = useCallback(
    async (way: "earlier" | "later"): Promise<void> => {
      const place = current.current;
      if (place.controller !== null) {
        // New lines are asked for as soon as the older ones have come.
        if (way === "later") place.isOwed = true;
        return;
      }
      const controller = new AbortController();
      place.controller = controller;
      setReading(true);
      const first = place.state.lines[0];
      const last = place.state.lines.at(-1);
      try {
        const page = bodyOf(
          await api.GET("/v1/runs/{run}/logs", {
            params: {
              path: { run },
              query: {
                level,
                limit: PAGE,
                ...(text === "" ? {} : { q: text }),
                ...(way === "later" ? { after: last?.id ?? 0 } : {}),
                ...(way === "earlier" && first !== undefined ? { before: first.id } : {}),
              },
            },
            signal: controller.signal,
          }),
        );
        if (controller.signal.aborted) return;
        place.failed = null;
        tell({
          type: way,
          lines: page.lines,
          prunedCount: page.pruned_count ?? 0,
          isEnd: isLastPage(page.lines),
        });
      } catch (error) {
        if (!controller.signal.aborted) {
          place.failed = way;
          tell({
            type: "failed",
            error: error instanceof Error ? error : new Error(String(error)),
          });
        }
      } finally {
        if (place.controller === controller) {
          place.controller = null;
          setReading(false);
          setOwed(place.isOwed);
          place.isOwed = false;
        }
      }
    },
    [run, level, text],
  );

  const begin = useCallback(() => {
    const place = current.current;
    place.controller?.abort();
    place.controller = null;
    place.failed = null;
    place.state = NOTHING_READ;
    tell({ type: "clear" });
    void read(from === "first" ? "later" : "earlier");
  }, [read, from]);
  useEffect(() => {
    const place = current.current;
    begin();
    return () => {
      place.controller?.abort();
      place.controller = null;
    };
  }, [begin]);

  /** Asks once more for what failed; lines that were read stay. */
  const retry = useCallback(() => {
    const { failed } = current.current;
    if (failed !== null) void read(failed);
  }, [read]);
  const { error } = state;
  useEffect(() => {
    if (!mayPass(error)) return;
    const timer = window.setInterval(retry, AGAIN_MS);
    return () => {
      window.clearInterval(timer);
    };
  }, [error, retry]);

  useEffect(() => {
    if (isOwed && !isReading) void read("later");
  }, [isOwed, isReading, read]);

  // Who reads from the first line comes to the new ones by and by.
  const timer = useRef<number | undefined>(undefined);
  const isAtEnd = !state.isFirst && !state.hasLater;
  useStream(runStream(run), (news) => {
    const isNew = news.type === "gap" || (news.type === "frame" && news.kind === "log");
    if (!isNew || !isAtEnd || timer.current !== undefined) return;
    timer.current = window.setTimeout(() => {
      timer.current = undefined;
      void read("later");
    }, REFRESH_MS);
  });
  useEffect(
    () => () => {
      window.clearTimeout(timer.current);
      timer.current = undefined;
    },
    [],
  );

  return {
    ...state,
    isReading,
    readEarlier: () => {
      if (state.hasEarlier && from === "newest") void read("earlier");
    },
    readLater: () => {
      if (state.hasLater) void read("later");
    },
    retry,
  };
}
