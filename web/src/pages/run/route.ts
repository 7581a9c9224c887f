/** The address of a run: which tab is open, which attempt is looked at, and what each tab keeps. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/pages/root";
import { runAddress } from "@/pages/run/address";

export const runRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/runs/$run",
  validateSearch: runAddress,
  component: lazyRouteComponent(() => import("@/pages/run/page"), "RunPage"),
});
