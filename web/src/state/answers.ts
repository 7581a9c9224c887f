/** How an answer stands that a page has asked for; pure. */
import type { UseQueryResult } from "@tanstack/react-query";
import { ApiError } from "@/api/client";

/** What has had no answer is asked for again so often while it is shown: an outage heals by itself. */
export const AGAIN_MS = 10_000;

/** Returns whether an error may pass without anybody's doing: no answer came, or the server failed. */
export function mayPass(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status >= 500);
}

/** An answer as far as it is there. */
export type Found<T> = Pick<UseQueryResult<T>, "data" | "error" | "isFetching"> & {
  refetch: () => unknown;
};

/** Returns several answers as one: it is there when all are, and fails with the first that does. */
export function together<T>(all: readonly Found<T>[]): Found<T[]> {
  const data = all.flatMap((one) => (one.data === undefined ? [] : [one.data]));
  const failed = all.filter(({ error }) => error !== null);
  return {
    data: data.length === all.length ? data : undefined,
    error: failed[0]?.error ?? null,
    isFetching: failed.some(({ isFetching }) => isFetching),
    refetch: () => {
      for (const one of failed) void one.refetch();
    },
  };
}
