/**
 * The events of one run, as `GET /v1/runs/{run}/events` streams them, and what they do to the cache.
 *
 * All that looks at a run shares one stream. It closes while nobody sees the page: a browser opens
 * only a few connections to a server, and a tab in the background must not hold one of them.
 */
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useSyncExternalStore } from "react";
import type { Schemas } from "@/api/client";
import { isLive, type Param, type Run, runKey } from "@/state/run";
import { type Series, withChanged } from "@/state/series";

export interface StatusFrame {
  type: "status";
  status: Run["status"];
  reason: string | null;
  name: string;
  experiment: string | null;
  trashed: string | null;
  etag: string;
}
export interface TrackingFrame {
  type: "tracking";
  change_seq: number;
  series: Schemas["SeriesSummary"][];
  params: Record<string, Param>;
  /** Null: the tag is gone. */
  tags: Record<string, string | null>;
  media: Schemas["MediaFacts"][];
  /** More changed than the frame holds, or something was taken away. */
  is_partial: boolean;
}
export interface LogFrame {
  type: "log";
  lines: Schemas["LogLineFacts"][];
}
export interface WarningFrame {
  type: "warning";
  code: Schemas["WarningCode"];
  message: string;
  counts: Record<string, number>;
}
export interface DeletedFrame {
  type: "deleted";
}
export type RunFrame = StatusFrame | TrackingFrame | LogFrame | WarningFrame | DeletedFrame;

/** `lost`: it is tried again by itself; `gone`: the run was deleted for good. */
export type StreamState = "connecting" | "open" | "lost" | "paused" | "gone";

const KINDS = ["status", "tracking", "log", "warning", "deleted"] as const;
const RETRY_MS_FIRST = 1_000;
const RETRY_MS_MAX = 30_000;
/** A glance at another tab does not close the stream. */
const HIDDEN_MS = 20_000;

type Listener = (frame: RunFrame) => void;

/** One connection, shared by those who listen. */
class RunStream {
  readonly listeners = new Set<Listener>();
  readonly watchers = new Set<() => void>();
  /** What may have been missed is read anew. */
  onGap: () => void = () => undefined;
  state: StreamState = "connecting";
  private source: EventSource | null = null;
  private timer: number | undefined;
  private wait = RETRY_MS_FIRST;
  private hasOpened = false;

  constructor(private readonly run: string) {}

  start(): void {
    document.addEventListener("visibilitychange", this.onVisibility);
    this.connect();
  }

  stop(): void {
    document.removeEventListener("visibilitychange", this.onVisibility);
    window.clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }

  private connect(): void {
    window.clearTimeout(this.timer);
    this.source?.close();
    const source = new EventSource(`/v1/runs/${encodeURIComponent(this.run)}/events`);
    this.source = source;
    let isNew = true;
    source.onopen = () => {
      this.wait = RETRY_MS_FIRST;
      // The browser's own return goes on behind the last frame; a new stream begins with now.
      if (isNew && this.hasOpened) this.onGap();
      isNew = false;
      this.hasOpened = true;
      this.become("open");
    };
    source.onerror = () => {
      if (this.state === "gone") return;
      this.become("lost");
      if (source.readyState !== EventSource.CLOSED) return;
      this.timer = window.setTimeout(() => {
        this.connect();
      }, this.wait);
      this.wait = Math.min(this.wait * 2, RETRY_MS_MAX);
    };
    for (const kind of KINDS) {
      source.addEventListener(kind, (event: MessageEvent<string>) => {
        this.hear(JSON.parse(event.data) as RunFrame);
      });
    }
  }

  private hear(frame: RunFrame): void {
    if (frame.type === "deleted") {
      this.become("gone");
      this.source?.close();
    }
    for (const listener of [...this.listeners]) listener(frame);
  }

  private become(state: StreamState): void {
    if (this.state === state) return;
    this.state = state;
    for (const watcher of [...this.watchers]) watcher();
  }

  private readonly onVisibility = (): void => {
    if (this.state === "gone") return;
    window.clearTimeout(this.timer);
    if (document.visibilityState === "hidden") {
      this.timer = window.setTimeout(() => {
        this.source?.close();
        this.become("paused");
      }, HIDDEN_MS);
    } else if (this.source === null || this.source.readyState === EventSource.CLOSED) {
      this.connect();
    }
  };
}

const streams = new Map<string, { stream: RunStream; users: number }>();

function enter(run: string): RunStream {
  const found = streams.get(run);
  if (found !== undefined) {
    found.users += 1;
    return found.stream;
  }
  const stream = new RunStream(run);
  streams.set(run, { stream, users: 1 });
  stream.start();
  return stream;
}

function leave(run: string): void {
  const found = streams.get(run);
  if (found === undefined) return;
  found.users -= 1;
  if (found.users > 0) return;
  found.stream.stop();
  streams.delete(run);
}

/** Keeps the cache of a run as the server says, and returns how the connection stands. */
export function useRunStream(run: string): StreamState {
  const cache = useQueryClient();
  useEffect(() => {
    const stream = enter(run);
    const apply = (frame: RunFrame): void => {
      applyFrame(cache, run, frame);
    };
    stream.listeners.add(apply);
    stream.onGap = () => void cache.invalidateQueries({ queryKey: runKey(run) });
    return () => {
      stream.listeners.delete(apply);
      leave(run);
    };
  }, [cache, run]);
  const watch = useCallback(
    (watcher: () => void) => {
      const stream = enter(run);
      stream.watchers.add(watcher);
      return () => {
        stream.watchers.delete(watcher);
        leave(run);
      };
    },
    [run],
  );
  return useSyncExternalStore(watch, () => streams.get(run)?.stream.state ?? "connecting");
}

/** Calls `listener` with each frame of a run; give it a stable function. */
export function useRunFrames(run: string, listener: (frame: RunFrame) => void): void {
  useEffect(() => {
    const stream = enter(run);
    stream.listeners.add(listener);
    return () => {
      stream.listeners.delete(listener);
      leave(run);
    };
  }, [run, listener]);
}

/** Writes what a frame says into the cache; what it only hints at is read anew. */
export function applyFrame(cache: QueryClient, run: string, frame: RunFrame): void {
  const key = runKey(run);
  const anew = (...parts: string[]): void => {
    void cache.invalidateQueries({ queryKey: [...key, ...parts] });
  };
  if (frame.type === "status") {
    const before = cache.getQueryData<Run>([...key, "facts"]);
    if (before !== undefined && isSame(before, frame)) return;
    cache.setQueryData<Run>([...key, "facts"], (known) =>
      known === undefined
        ? known
        : {
            ...known,
            status: frame.status,
            reason: frame.reason,
            name: frame.name,
            experiment: frame.experiment,
            trashed: frame.trashed,
          },
    );
    // The note, when it ended and who began it again stand in no frame.
    anew("facts");
    anew("life");
    if (before !== undefined && isLive(before) !== isLive(frame)) anew("attempts");
  } else if (frame.type === "tracking") {
    if (frame.is_partial) {
      anew();
      return;
    }
    merge(cache, [...key, "params"], frame.params);
    merge(cache, [...key, "tags"], frame.tags);
    if (frame.series.length > 0) {
      cache.setQueryData<Series[]>([...key, "series"], (known) =>
        known === undefined ? known : withChanged(known, frame.series),
      );
    }
    if (frame.media.length > 0) anew("media");
  } else if (frame.type === "warning") {
    anew("life");
    anew("facts");
  }
}

function isSame(known: Run, frame: StatusFrame): boolean {
  return (
    known.status === frame.status &&
    known.etag === frame.etag &&
    (known.trashed ?? null) === frame.trashed
  );
}

function merge(cache: QueryClient, key: readonly string[], changes: Record<string, unknown>): void {
  if (Object.keys(changes).length === 0) return;
  cache.setQueryData<Record<string, unknown>>(key, (known) => {
    if (known === undefined) return known;
    const merged = Object.entries({ ...known, ...changes }).filter(([, value]) => value !== null);
    return Object.fromEntries(merged);
  });
}
