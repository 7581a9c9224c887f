/** The address of a comparison. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { exactly } from "@/pages/address";
import { compareSearch } from "@/pages/compare/address";
import { rootRoute } from "@/pages/root";

export const compareRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/compare",
  validateSearch: exactly(compareSearch),
  component: lazyRouteComponent(() => import("@/pages/compare/page"), "ComparePage"),
});
