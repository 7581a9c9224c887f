/** The address of the table of runs. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { readSearch, type RunsSearch } from "@/pages/runs/address";
import { askedOf, runsQuery } from "@/pages/runs/data";
import { exactly, rootSearch, type RootSearch } from "@/pages/address";
import { rootRoute } from "@/pages/root";
import { chosenProject, projectsQuery } from "@/state/projects";
import { ahead, queries, sessionQuery } from "@/state/queries";

/** Reads the first page of the table as soon as it may be asked for: a search needs the session's token. */
async function readAhead(search: RunsSearch & RootSearch): Promise<void> {
  if (search.group !== undefined) return;
  await queries.query(sessionQuery);
  const project = search.project ?? chosenProject(undefined, await queries.query(projectsQuery));
  if (project === null) return;
  const asked = askedOf(project, search);
  await queries.infiniteQuery({ ...runsQuery(asked), staleTime: Infinity });
}

export const runsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/runs",
  validateSearch: exactly(readSearch),
  // The rows are on their way while the page itself is. A link that is only pointed at asks nothing.
  loader: ({ preload, location }) => {
    if (!preload)
      ahead(readAhead({ ...rootSearch(location.search), ...readSearch(location.search) }));
  },
  component: lazyRouteComponent(() => import("@/pages/runs/page"), "RunsPage"),
});
