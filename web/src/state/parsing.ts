/** How the server reads the texts of a search. There is no second grammar in the pages. */
import { queryOptions } from "@tanstack/react-query";
import { api, bodyOf, type Schemas } from "@/api/client";

type Parsed = Schemas["ParsedFilter"];
export type Fault = Schemas["ProblemFault"];
export type Candidate = Schemas["Candidate"];

interface Typed {
  project: string;
  filter?: string;
  columns?: string;
  sort?: string;
  /** In code points. */
  caret: number;
  completing?: "filter" | "columns" | "sort";
}

/** What a text says, what is wrong with it, and what could stand at the caret. */
export function parsedQuery(typed: Typed) {
  return queryOptions({
    queryKey: ["parse", typed],
    queryFn: async ({ signal }): Promise<Parsed> =>
      bodyOf(await api.POST("/v1/search/parse", { signal, body: { limit: 50, ...typed } })),
    staleTime: 60_000,
    gcTime: 60_000,
  });
}
