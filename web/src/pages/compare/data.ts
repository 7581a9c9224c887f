/** What the comparison reads. */
import { queryOptions } from "@tanstack/react-query";
import { api, ApiError, bodyOf, type Schemas } from "@/api/client";

export type Comparison = Schemas["Comparison"];
export type RunRow = Schemas["RunRow"];

export function comparisonQuery(ids: readonly string[]) {
  return queryOptions({
    queryKey: ["compare", ...ids],
    queryFn: async ({ signal }): Promise<Comparison> =>
      bodyOf(
        await api.GET("/v1/run-compare", {
          signal,
          // Charts read their own points.
          params: { query: { ids: ids.join(","), curves: false } },
        }),
      ),
  });
}

/** Says why a run of the address cannot be shown, and what to do; `null`: it may be tried again. */
export function whyMissing(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null;
  switch (error.status) {
    case 404:
      return "There is no such run: it was deleted for good, or you have no role in its project.";
    case 403:
      return "You may not read it. An admin of its project can give you a role there.";
    case 422:
      return "That is no id of a run: one begins with run_, and the table of runs has it in its links.";
    default:
      return null;
  }
}
