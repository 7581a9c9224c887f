/** The runs below a run: those of a sweep, of a pipeline, of a fold. */
import { queryOptions } from "@tanstack/react-query";
import { api, bodyOf, type Schemas } from "@/api/client";
import { type Run, runKey } from "@/state/run";

/** Of so many is read what they have to tell apart. */
const SAMPLE = 4;

export interface Children {
  /** How many there are, without those in the trash. */
  total: number;
  /** The newest ones. */
  newest: Schemas["RunRow"][];
}

/** Returns the condition that the children of a run meet, in the search language. */
export function childrenFilter(run: string): string {
  return `parent = "${run}"`;
}

export function childrenQuery(run: Pick<Run, "id" | "project">) {
  return queryOptions({
    queryKey: [...runKey(run.id), "children"],
    queryFn: async ({ signal }): Promise<Children> => {
      const page = bodyOf(
        await api.POST("/v1/runs/search", {
          signal,
          body: {
            project: run.project,
            filter: childrenFilter(run.id),
            limit: SAMPLE,
            total: true,
          },
        }),
      );
      return { total: page.total ?? page.runs.length, newest: page.runs };
    },
  });
}
