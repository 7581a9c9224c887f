/** What is read once and kept for a while: the cache of answers, and its rules. */
import { QueryClient } from "@tanstack/react-query";
import { readSession } from "@/api/session";
import { AGAIN_MS, mayPass } from "@/state/answers";

const TRIES = 3;

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // A refusal stays one; what did not answer may yet.
      retry: (count, error) => count < TRIES && mayPass(error),
      refetchInterval: ({ state }) => {
        // A further page of a list that failed has a button: the list is not read anew for it.
        const isFurther = state.fetchMeta?.fetchMore !== undefined;
        return mayPass(state.error) && !isFurther ? AGAIN_MS : false;
      },
      refetchOnWindowFocus: false,
    },
  },
});

export const sessionQuery = { queryKey: ["session"], queryFn: readSession, staleTime: 60_000 };
