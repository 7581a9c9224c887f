/** The address of the table of runs. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/pages/root";

export interface RunsSearch {
  filter?: string;
  sort?: string;
}

export const runsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/runs",
  validateSearch: (search: Record<string, unknown>): RunsSearch => ({
    ...(typeof search.filter === "string" && search.filter !== "" ? { filter: search.filter } : {}),
    ...(typeof search.sort === "string" && search.sort !== "" ? { sort: search.sort } : {}),
  }),
  component: lazyRouteComponent(() => import("@/pages/runs/page"), "RunsPage"),
});
