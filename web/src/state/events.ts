/**
 * What happens on the server while a page is open. All tabs share one connection for each stream,
 * by a shared worker where there are any; a page never reloads, it changes its cache.
 */
import { useEffect, useEffectEvent, useState } from "react";
import { doubtSession } from "@/state/queries";
import type { StreamNews, StreamState } from "@/state/stream";
import { StreamHub, type Tell } from "@/state/stream_hub";
import { BEAT_SECONDS, type FromWorker, type ToWorker } from "@/state/stream_messages";

export type { StreamNews, StreamState } from "@/state/stream";

/** A frame of a project: runs whose row in a table may have changed. */
export interface ProjectFrame {
  runs: string[];
  deleted: string[];
  is_partial: boolean;
}

/** Returns the address of the stream of a project. */
export function projectStream(project: string): string {
  return `/v1/events?project=${encodeURIComponent(project)}`;
}

/** Returns the address of the stream of a run. */
export function runStream(run: string): string {
  return `/v1/runs/${encodeURIComponent(run)}/events`;
}

interface Streams {
  follow(path: string, tell: Tell): () => void;
}

/** Follows by the worker that all tabs share. */
class SharedStreams implements Streams {
  readonly #port: MessagePort;
  readonly #followers = new Map<string, Set<Tell>>();
  readonly #states = new Map<string, StreamState>();

  constructor(onFailure: (followers: Map<string, Set<Tell>>) => void) {
    const worker = new SharedWorker(new URL("./stream_worker.ts", import.meta.url), {
      type: "module",
      name: "mapi streams",
    });
    worker.onerror = () => {
      onFailure(this.#followers);
    };
    this.#port = worker.port;
    this.#port.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (data.type === "ended") {
        this.#beat();
        return;
      }
      if (data.news.type === "state") this.#states.set(data.path, data.news.state);
      for (const follower of [...(this.#followers.get(data.path) ?? [])]) follower(data.news);
    };
    setInterval(() => {
      this.#beat();
    }, BEAT_SECONDS * 1000);
    window.addEventListener("pagehide", () => {
      this.#say({ type: "end" });
    });
    window.addEventListener("pageshow", (event) => {
      if (event.persisted) this.#beat();
    });
  }

  follow(path: string, tell: Tell): () => void {
    const known = this.#followers.get(path);
    const followers = known ?? new Set<Tell>();
    followers.add(tell);
    if (known === undefined) {
      this.#followers.set(path, followers);
      this.#say({ type: "follow", path });
    } else {
      tell({ type: "state", state: this.#states.get(path) ?? "connecting" });
    }
    return () => {
      if (!followers.delete(tell) || followers.size > 0) return;
      this.#followers.delete(path);
      this.#states.delete(path);
      this.#say({ type: "leave", path });
    };
  }

  /** Says that the tab is there, and what it follows. */
  #beat(): void {
    this.#say({ type: "beat", paths: [...this.#followers.keys()] });
  }

  #say(message: ToWorker): void {
    this.#port.postMessage(message);
  }
}

let streams: Streams | null = null;

function openStreams(): Streams {
  if (streams !== null) return streams;
  if (!("SharedWorker" in globalThis)) {
    streams = new StreamHub();
    return streams;
  }
  streams = new SharedStreams((followers) => {
    // A browser that starts no worker for us: each tab has connections of its own.
    const own = new StreamHub();
    streams = own;
    for (const [path, tells] of followers) for (const tell of tells) own.follow(path, tell);
  });
  return streams;
}

/**
 * Follows a stream while the component is shown, and returns where the connection stands.
 *
 * @param path - Of `projectStream` or `runStream`; null follows nothing.
 * @param onNews - Hears each frame, and of gaps: then what is shown is to be read anew.
 */
export function useStream(path: string | null, onNews: (news: StreamNews) => void): StreamState {
  const [state, setState] = useState<StreamState>("connecting");
  const hear = useEffectEvent((news: StreamNews) => {
    if (news.type === "state") setState(news.state);
    if (news.type === "refused") doubtSession();
    onNews(news);
  });
  useEffect(() => {
    if (path === null) return;
    return openStreams().follow(path, (news) => {
      hear(news);
    });
  }, [path]);
  return state;
}
