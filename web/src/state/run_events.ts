/** The frames of `GET /v1/runs/{run}/events`, and what they do to the cache. */
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import type { Schemas } from "@/api/client";
import { runStream, type StreamState, useStream } from "@/state/events";
import { type MediaList, withNewMedia } from "@/state/media";
import { RunRenewal } from "@/state/renewal";
import { isLive, type Param, type Run, runKey, runQuery } from "@/state/run";
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
interface LogFrame {
  type: "log";
  lines: Schemas["LogLineFacts"][];
}
interface WarningFrame {
  type: "warning";
  code: Schemas["WarningCode"];
  message: string;
  counts: Record<string, number>;
}
interface DeletedFrame {
  type: "deleted";
}
export type RunFrame = StatusFrame | TrackingFrame | LogFrame | WarningFrame | DeletedFrame;

/** Keeps the cache of a run as the server says, and returns how the connection stands. */
export function useRunStream(run: string): { state: StreamState; isGone: boolean } {
  const cache = useQueryClient();
  const [isGone, setIsGone] = useState(false);
  const renewal = useMemo(() => new RunRenewal(cache, run), [cache, run]);
  useEffect(
    () => () => {
      renewal.end();
    },
    [renewal],
  );
  const state = useStream(isGone ? null : runStream(run), (news) => {
    if (news.type === "frame") {
      const frame = news.data as RunFrame;
      if (frame.type === "deleted") setIsGone(true);
      applyFrame(cache, run, { frame, renewal });
    } else if (news.type === "gap") {
      renewal.ask("all");
    } else if (news.type === "state" && news.state === "live") {
      // What happened between the first reading and the beginning of the stream was not told.
      const known = cache.getQueryData(runQuery(run).queryKey);
      if (known !== undefined && isLive(known)) renewal.ask("all");
    }
  });
  return { state, isGone };
}

/** Writes what a frame says into the cache; what it only hints at is read anew. */
export function applyFrame(
  cache: QueryClient,
  run: string,
  news: { frame: RunFrame; renewal: Pick<RunRenewal, "ask"> },
): void {
  const { frame, renewal } = news;
  const key = runKey(run);
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
    const isOther = before !== undefined && isLive(before) !== isLive(frame);
    renewal.ask(["facts", "life", ...(isOther ? (["attempts"] as const) : [])]);
  } else if (frame.type === "tracking") {
    if (frame.is_partial) {
      renewal.ask("all");
      return;
    }
    merge(cache, [...key, "params"], frame.params);
    merge(cache, [...key, "tags"], frame.tags);
    if (frame.series.length > 0) {
      cache.setQueryData<Series[]>([...key, "series"], (known) =>
        known === undefined ? known : withChanged(known, frame.series),
      );
    }
    if (frame.media.length > 0) {
      cache.setQueryData<MediaList>([...key, "media"], (known) =>
        known === undefined ? known : withNewMedia(known, frame.media),
      );
    }
  } else if (frame.type === "warning") {
    renewal.ask(["facts", "life"]);
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
