import "@mantine/core/styles.css";
import "@mantine/core/styles/default-css-variables.css";
import "@mantine/notifications/styles.css";
import "@/base/tokens.css";
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { theme } from "@/base/theme";
import { router } from "@/pages/router";
import { queries } from "@/state/queries";

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no element #root.");
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <Notifications position="bottom-right" />
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
