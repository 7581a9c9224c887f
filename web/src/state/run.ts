/** One run: what the pages read of it, and under which keys the answers are kept. */
import { queryOptions } from "@tanstack/react-query";
import { api, ApiError, bodyOf, type Schemas } from "@/api/client";

export { mayWrite } from "@/state/rights";

export type Run = Schemas["RunFacts"];
export type Param = Schemas["ParamFacts"];
export type Attempt = Schemas["AttemptFacts"];
export type LifeEntry = Schemas["LifeEntry"];
export type DocumentPlace = Schemas["DocumentPlace"];
type StoredDocument = Schemas["DocumentFacts"];

/** The largest page of the life of a run. */
const LIFE_PAGE = 500;

/** The root of all that is kept of a run: who invalidates it reads everything anew. */
export function runKey(run: string): readonly ["run", string] {
  return ["run", run];
}

export function runQuery(run: string) {
  return queryOptions({
    queryKey: [...runKey(run), "facts"],
    queryFn: async ({ signal }): Promise<Run> =>
      bodyOf(await api.GET("/v1/runs/{run}", { params: { path: { run } }, signal })),
  });
}

export function tagsQuery(run: string) {
  return queryOptions({
    queryKey: [...runKey(run), "tags"],
    queryFn: async ({ signal }): Promise<Record<string, string>> =>
      bodyOf(await api.GET("/v1/runs/{run}/tags", { params: { path: { run } }, signal })).tags,
  });
}

export function attemptsQuery(run: string) {
  return queryOptions({
    queryKey: [...runKey(run), "attempts"],
    queryFn: async ({ signal }): Promise<Attempt[]> =>
      bodyOf(await api.GET("/v1/runs/{run}/attempts", { params: { path: { run } }, signal }))
        .attempts,
  });
}

export function paramsQuery(run: string) {
  return queryOptions({
    queryKey: [...runKey(run), "params"],
    queryFn: async ({ signal }): Promise<Record<string, Param>> => {
      const found: Record<string, Param> = {};
      let after: string | undefined;
      do {
        const page: Schemas["Params"] = bodyOf(
          await api.GET("/v1/runs/{run}/params", {
            params: { path: { run }, query: after === undefined ? {} : { after } },
            signal,
          }),
        );
        Object.assign(found, page.params);
        after = page.next_after ?? undefined;
      } while (after !== undefined);
      return found;
    },
  });
}

/** Warnings and changes of a run; all of them: a run has at most a few hundred. */
export function lifeQuery(run: string) {
  return queryOptions({
    queryKey: [...runKey(run), "life"],
    queryFn: async ({ signal }): Promise<LifeEntry[]> => {
      const found: LifeEntry[] = [];
      let isComplete = false;
      while (!isComplete) {
        const last = found.at(-1);
        const page: Schemas["RunLife"] = bodyOf(
          await api.GET("/v1/runs/{run}/life", {
            params: {
              path: { run },
              query: { limit: LIFE_PAGE, ...(last === undefined ? {} : { after: last.id }) },
            },
            signal,
          }),
        );
        found.push(...page.entries);
        isComplete = page.is_complete || page.entries.length === 0;
      }
      return found;
    },
  });
}

/** How much of each budget a run has used. */
export function budgetsQuery(run: string) {
  return queryOptions({
    queryKey: [...runKey(run), "budgets"],
    queryFn: async ({ signal }): Promise<Record<string, Schemas["BudgetUse"]>> =>
      bodyOf(await api.GET("/v1/runs/{run}/budgets", { params: { path: { run } }, signal }))
        .budgets,
  });
}

/** Which documents a run has, by name, stream and rank. */
export function documentsQuery(run: string) {
  return queryOptions({
    queryKey: [...runKey(run), "documents"],
    queryFn: async ({ signal }): Promise<DocumentPlace[]> =>
      bodyOf(await api.GET("/v1/runs/{run}/documents", { params: { path: { run } }, signal }))
        .documents,
  });
}

/**
 * The environment or the config of a producer; null where it has written none.
 *
 * @param producer - With the time of its document, where it is known, a newer one is another answer.
 */
export function documentQuery(
  run: string,
  name: "environment" | "config",
  producer: { stream: string; rank: number; time?: string },
) {
  const { stream, rank, time } = producer;
  return queryOptions({
    queryKey: [...runKey(run), name, stream, rank, time ?? null],
    queryFn: async ({ signal }): Promise<StoredDocument | null> => {
      try {
        const params = { path: { run }, query: { stream, rank } };
        return bodyOf(
          name === "config"
            ? await api.GET("/v1/runs/{run}/config", { params, signal })
            : await api.GET("/v1/runs/{run}/environment", { params, signal }),
        );
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
  });
}

export function experimentQuery(experiment: string) {
  return queryOptions({
    queryKey: ["experiment", experiment],
    queryFn: async ({ signal }) =>
      bodyOf(
        await api.GET("/v1/experiments/{experiment}", { params: { path: { experiment } }, signal }),
      ),
    staleTime: 60_000,
  });
}

/** Returns whether a run may still change by itself. */
export function isLive(run: Pick<Run, "status">): boolean {
  return run.status === "running" || run.status === "starting" || run.status === "queued";
}
