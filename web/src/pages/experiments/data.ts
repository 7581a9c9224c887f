/** What the pages of experiments read and write. */
import { infiniteQueryOptions } from "@tanstack/react-query";
import { api, bodyOf } from "@/api/client";
import type { Experiment } from "@/pages/experiments/order";
import { queries } from "@/state/queries";
import { experimentQuery } from "@/state/run";

/** More than this few have; the rest comes on demand. */
const PAGE = 500;

export function experimentsQuery(project: string | null, show: "open" | "archived" | "all") {
  return infiniteQueryOptions({
    queryKey: ["experiments", project, show],
    enabled: project !== null,
    initialPageParam: null as string | null,
    queryFn: async ({ pageParam, signal }) =>
      bodyOf(
        await api.GET("/v1/experiments", {
          signal,
          params: {
            query: {
              limit: PAGE,
              ...(project === null ? {} : { project }),
              ...(show === "all" ? {} : { archived: show === "archived" }),
              ...(pageParam === null ? {} : { cursor: pageParam }),
            },
          },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor,
  });
}

/** A change names the version that the viewer saw, so that two people do not undo each other. */
function versionOf(experiment: Experiment): { "If-Match": string } {
  return { "If-Match": experiment.etag };
}

/** Puts an answer where the pages read, and lets lists be read anew. */
async function took(experiment: Experiment): Promise<Experiment> {
  queries.setQueryData(experimentQuery(experiment.id).queryKey, experiment);
  await queries.invalidateQueries({ queryKey: ["experiments"] });
  return experiment;
}

export async function makeExperiment(
  project: string,
  sent: { name: string; description: string },
): Promise<Experiment> {
  return took(bodyOf(await api.POST("/v1/experiments", { body: { project, ...sent } })));
}

export async function changeExperiment(
  experiment: Experiment,
  change: { name?: string; description?: string },
): Promise<Experiment> {
  return took(
    bodyOf(
      await api.PATCH("/v1/experiments/{experiment}", {
        params: { path: { experiment: experiment.id } },
        headers: versionOf(experiment),
        body: change,
      }),
    ),
  );
}

export async function archiveExperiment(
  experiment: Experiment,
  isArchived: boolean,
): Promise<Experiment> {
  const params = { params: { path: { experiment: experiment.id } } };
  return took(
    bodyOf(
      isArchived
        ? await api.POST("/v1/experiments/{experiment}/archive", params)
        : await api.POST("/v1/experiments/{experiment}/unarchive", params),
    ),
  );
}

/** Deletes an experiment; its runs stay, its views do not. */
export async function deleteExperiment(experiment: Experiment): Promise<void> {
  await api.DELETE("/v1/experiments/{experiment}", {
    params: { path: { experiment: experiment.id } },
    headers: versionOf(experiment),
  });
  // What the page still shows asks for an experiment that is gone: it is read anew when it is next seen.
  const later = { refetchType: "none" } as const;
  await Promise.all([
    queries.invalidateQueries({ queryKey: ["experiment", experiment.id], ...later }),
    queries.invalidateQueries({ queryKey: ["views"], ...later }),
    queries.invalidateQueries({ queryKey: ["runs"], ...later }),
    queries.invalidateQueries({ queryKey: ["experiments"] }),
  ]);
}
