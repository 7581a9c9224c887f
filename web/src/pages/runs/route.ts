/** The address of the table of runs. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { readSearch } from "@/pages/runs/address";
import { rootRoute } from "@/pages/root";

export const runsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/runs",
  validateSearch: readSearch,
  component: lazyRouteComponent(() => import("@/pages/runs/page"), "RunsPage"),
});
