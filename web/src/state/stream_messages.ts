/** What tabs and the worker that they share say to each other. */
import type { StreamNews } from "@/state/stream";

export type ToWorker =
  { type: "follow"; path: string } | { type: "leave"; path: string } | { type: "beat" | "end" };

export interface FromWorker {
  path: string;
  news: StreamNews;
}

/** A tab says so often that it is there. */
export const BEAT_SECONDS = 60;
