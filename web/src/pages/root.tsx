/** The root of all addresses: the project, which every page has. */
import { createRootRoute, retainSearchParams } from "@tanstack/react-router";
import { Shell } from "@/pages/shell/shell";
import { projectsQuery } from "@/state/projects";
import { ahead, queries, sessionQuery } from "@/state/queries";
import { Failure } from "@/widgets/failure";

/** What every address may hold. */
export interface RootSearch {
  project?: string;
}

export const rootRoute = createRootRoute({
  validateSearch: (search: Record<string, unknown>): RootSearch =>
    typeof search.project === "string" && search.project !== "" ? { project: search.project } : {},
  // A way to another page stays in the project, unless it names another one.
  search: { middlewares: [retainSearchParams(["project"])] },
  loader: () => {
    ahead(queries.query(sessionQuery));
    ahead(queries.query(projectsQuery));
  },
  component: Shell,
  errorComponent: ({ error, reset }) => <Failure error={error} onRetry={reset} />,
  notFoundComponent: () => <Failure error={new Error("There is no page at this address.")} />,
});
