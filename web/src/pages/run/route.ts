/** The address of a run: which tab is open, which attempt is looked at, and what each tab keeps. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { exactly } from "@/pages/address";
import { rootRoute } from "@/pages/root";
import { runAddress } from "@/pages/run/address";
import { ahead, queries } from "@/state/queries";
import { runQuery } from "@/state/run";
import { seriesQuery } from "@/state/series";

export const runRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/runs/$run",
  validateSearch: exactly(runAddress),
  // The answers are on their way while the page itself is. A link that is only pointed at asks nothing.
  loader: ({ params, preload, location }) => {
    if (preload) return;
    ahead(queries.query({ ...runQuery(params.run), staleTime: Infinity }));
    if (runAddress(location.search).tab === undefined) {
      ahead(queries.query({ ...seriesQuery(params.run), staleTime: Infinity }));
    }
  },
  component: lazyRouteComponent(() => import("@/pages/run/page"), "RunPage"),
});
