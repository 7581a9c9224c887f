/** The root of all addresses: the project, which every page has. */
import { createRootRoute, retainSearchParams } from "@tanstack/react-router";
import { rootSearch, type RootSearch } from "@/pages/address";
import { Shell } from "@/pages/shell/shell";
import { projectsQuery } from "@/state/projects";
import { ahead, queries, sessionQuery } from "@/state/queries";
import { Failure } from "@/widgets/failure";

export const rootRoute = createRootRoute({
  // What is left of an address belongs to its page.
  validateSearch: (search: Record<string, unknown>): RootSearch => ({
    ...("project" in search ? { project: undefined } : {}),
    ...rootSearch(search),
  }),
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
