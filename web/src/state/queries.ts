/** What is read once and kept for a while: the cache of answers, and its rules. */
import { type Query, QueryClient, queryOptions } from "@tanstack/react-query";
import { whenSignedOut } from "@/api/client";
import { readSession } from "@/api/session";
import { AGAIN_MS, mayPass } from "@/state/answers";

const TRIES = 3;

/** Says how soon an answer is asked for again: what failed for want of one heals by itself. */
function healing({ state }: Pick<Query, "state">): number | false {
  // A further page of a list that failed has a button: the list is not read anew for it.
  const isFurther = state.fetchMeta?.fetchMore !== undefined;
  return mayPass(state.error) && !isFurther ? AGAIN_MS : false;
}

/** Returns the rule of what is read every so often while it changes, and heals when it does not. */
export function every(
  milliseconds: number,
  isChanging: boolean,
): (query: { state: Query["state"] }) => number | false {
  return (query) => (isChanging ? milliseconds : healing(query));
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // A refusal stays one; what did not answer may yet.
      retry: (count, error) => count < TRIES && mayPass(error),
      refetchInterval: healing,
      refetchOnWindowFocus: false,
    },
  },
});

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: readSession,
  staleTime: 60_000,
  // Whoever comes back to a tab finds out whether they are still signed in, or are again.
  refetchOnWindowFocus: ({ state }) => (state.error === null ? true : "always"),
});

/** Asks the server whether the viewer is still signed in; many doubts are one question. */
export function doubtSession(): void {
  void queries.invalidateQueries({ queryKey: sessionQuery.queryKey }, { cancelRefetch: false });
}

whenSignedOut(doubtSession);

/**
 * Lets an answer be on its way while the page that shows it is, too. Nobody waits for it here: the page
 * asks for the same, and says what is wrong with it.
 */
export function ahead(answer: Promise<unknown>): void {
  answer.catch(() => undefined);
}
