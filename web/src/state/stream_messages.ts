/** What tabs and the worker that they share say to each other. */
import type { StreamNews } from "@/state/stream";

export type ToWorker =
  | { type: "follow" | "leave"; path: string }
  /** The tab is there, and follows these paths: a worker that had given it up begins them anew. */
  | { type: "beat"; paths: readonly string[] }
  | { type: "end" };

export type FromWorker =
  | { type: "news"; path: string; news: StreamNews }
  /** The tab was given up for its silence. One that hears this is there after all, and beats. */
  | { type: "ended" };

/** A tab says so often that it is there. */
export const BEAT_SECONDS = 60;
/** A tab that is gone says nothing; browsers let hidden ones speak once a minute. */
export const SILENCE_SECONDS = 5 * BEAT_SECONDS;
