/** The address of the settings. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { exactly } from "@/pages/address";
import { rootRoute } from "@/pages/root";
import { settingsSearch } from "@/pages/settings/address";

export const settingsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/settings",
  validateSearch: exactly(settingsSearch),
  component: lazyRouteComponent(() => import("@/pages/settings/page"), "SettingsPage"),
});
