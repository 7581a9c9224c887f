/** What can be done to a run as a whole. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, bodyOf } from "@/api/client";
import { type Run, runKey, runQuery } from "@/state/run";

type Action = "cancel" | "retry" | "trash" | "restore";

/** Does it, and answers the run as it is since; of a retry the new run, of one for the trash nothing. */
export function useRunAction(run: string, action: Action) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (): Promise<Run | null> => act(run, action),
    onSuccess: async (changed) => {
      if (changed !== null) cache.setQueryData(runQuery(changed.id).queryKey, changed);
      await cache.invalidateQueries({ queryKey: runKey(run) });
      await cache.invalidateQueries({ queryKey: ["runs"] });
    },
  });
}

async function act(run: string, action: Action): Promise<Run | null> {
  const params = { path: { run } };
  if (action === "cancel") return bodyOf(await api.POST("/v1/runs/{run}/cancel", { params }));
  if (action === "retry") return bodyOf(await api.POST("/v1/runs/{run}/retry", { params }));
  if (action === "restore") return bodyOf(await api.POST("/v1/runs/{run}/restore", { params }));
  await api.DELETE("/v1/runs/{run}", { params });
  return null;
}
