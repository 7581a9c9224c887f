/** What is read once and kept for a while: the cache of answers, and its rules. */
import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "@/api/client";
import { readSession } from "@/api/session";

const TRIES = 3;

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // A refusal stays one; what did not answer may yet.
      retry: (count, error) =>
        count < TRIES && error instanceof ApiError && (error.status === 0 || error.status >= 500),
      refetchOnWindowFocus: false,
    },
  },
});

export const sessionQuery = { queryKey: ["session"], queryFn: readSession, staleTime: 60_000 };
