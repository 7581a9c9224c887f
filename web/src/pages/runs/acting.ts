/** What is done with chosen runs: each by a request of its own, a few at a time. */
import { api, bodyOf, type Schemas } from "@/api/client";

/** Requests that are on their way at a time; a browser opens six connections. */
const AT_ONCE = 4;

export interface Outcome {
  done: string[];
  failed: { id: string; error: Error }[];
}

/** Does something with each run; one that fails keeps no other from it. */
export async function withEach(
  ids: readonly string[],
  work: (id: string) => Promise<unknown>,
): Promise<Outcome> {
  const outcome: Outcome = { done: [], failed: [] };
  const waiting = [...ids];
  const worker = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try {
        await work(id);
        outcome.done.push(id);
      } catch (error) {
        outcome.failed.push({
          id,
          error: error instanceof Error ? error : new Error(String(error)),
        });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, ids.length) }, worker));
  return outcome;
}

export function tagRuns(ids: readonly string[], key: string, value: string): Promise<Outcome> {
  return withEach(ids, (run) =>
    api.PUT("/v1/runs/{run}/tags", { params: { path: { run } }, body: { tags: { [key]: value } } }),
  );
}

/** Moves runs into an experiment, or with null out of theirs. */
export function moveRuns(ids: readonly string[], experiment: string | null): Promise<Outcome> {
  return withEach(ids, (run) =>
    api.PATCH("/v1/runs/{run}", { params: { path: { run } }, body: { experiment } }),
  );
}

export function trashRuns(ids: readonly string[]): Promise<Outcome> {
  return withEach(ids, (run) => api.DELETE("/v1/runs/{run}", { params: { path: { run } } }));
}

export function restoreRuns(ids: readonly string[]): Promise<Outcome> {
  return withEach(ids, (run) => api.POST("/v1/runs/{run}/restore", { params: { path: { run } } }));
}

export type Experiment = Schemas["ExperimentFacts"];

/** Reads the experiments that take runs: the newest first. */
export async function openExperiments(project: string): Promise<Experiment[]> {
  const query = { project, limit: 200 };
  return bodyOf(await api.GET("/v1/experiments", { params: { query } })).experiments;
}

/** Returns the experiment of a name, made where there is none. */
export async function namedExperiment(project: string, name: string): Promise<Experiment> {
  return bodyOf(
    await api.POST("/v1/experiments", {
      params: { query: { if_exists: "get" } },
      body: { project, name },
    }),
  );
}
