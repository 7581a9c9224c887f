/** All addresses of the pages. Each page is loaded when it is first seen. */
import { createRoute, createRouter, redirect } from "@tanstack/react-router";
import { parseSearch } from "@/pages/address";
import { compareRoute } from "@/pages/compare/route";
import { experimentRoute, experimentsRoute } from "@/pages/experiments/route";
import { rootRoute } from "@/pages/root";
import { runRoute } from "@/pages/run/route";
import { runsRoute } from "@/pages/runs/route";
import { settingsRoute } from "@/pages/settings/route";

const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/",
  beforeLoad: ({ search }) => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router's way to go elsewhere
    throw redirect({ to: "/runs", search });
  },
});

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    homeRoute,
    runsRoute,
    runRoute,
    experimentsRoute,
    experimentRoute,
    compareRoute,
    settingsRoute,
  ]),
  defaultPreload: "intent",
  parseSearch,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
