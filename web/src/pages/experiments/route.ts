/** The addresses of the experiments. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { exactly } from "@/pages/address";
import { readSearch } from "@/pages/runs/address";
import { rootRoute } from "@/pages/root";

interface ExperimentsSearch {
  /** Part of a name. */
  q?: string;
  /** Open ones where it is absent. */
  show?: "archived" | "all";
  /** The newest first where it is absent; a minus before it turns the order round. */
  sort?: string;
}

export const experimentsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/experiments",
  validateSearch: exactly((search): ExperimentsSearch => ({
    ...(typeof search.q === "string" && search.q !== "" ? { q: search.q } : {}),
    ...(search.show === "archived" || search.show === "all" ? { show: search.show } : {}),
    ...(typeof search.sort === "string" && search.sort !== "" ? { sort: search.sort } : {}),
  })),
  component: lazyRouteComponent(() => import("@/pages/experiments/list"), "ExperimentsPage"),
});

export const experimentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/experiments/$experiment",
  validateSearch: exactly(readSearch),
  component: lazyRouteComponent(() => import("@/pages/experiments/page"), "ExperimentPage"),
});
