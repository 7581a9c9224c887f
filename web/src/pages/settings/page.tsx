/** The settings: who may do what, what may be kept, and what is. */
import { Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { keepProject, withoutNothing } from "@/pages/address";
import { TABS, type Tab } from "@/pages/settings/address";
import { Audit } from "@/pages/settings/audit";
import { Limits } from "@/pages/settings/limits";
import { Members } from "@/pages/settings/members";
import { Projects } from "@/pages/settings/projects";
import { RetentionPart } from "@/pages/settings/retention";
import classes from "@/pages/settings/settings.module.css";
import { Tokens } from "@/pages/settings/tokens";
import { Usage } from "@/pages/settings/usage";
import { chosenProject, projectsQuery } from "@/state/projects";
import { sessionQuery } from "@/state/queries";
import { Boundary } from "@/widgets/boundary";
import { PageHead } from "@/widgets/page_head";
import { TabRow } from "@/widgets/tab_row";
import { useTitle } from "@/widgets/title";

const route = getRouteApi("/settings");
const TITLES: Record<Tab, string> = {
  tokens: "Tokens",
  members: "Members",
  projects: "Projects",
  limits: "Limits",
  usage: "Usage",
  retention: "Retention",
  audit: "Audit",
};

export function SettingsPage(): ReactElement {
  const { project: asked, tab = "tokens" } = route.useSearch();
  const navigate = useNavigate({ from: "/settings" });
  const session = useQuery(sessionQuery);
  const projects = useQuery(projectsQuery);
  const project = projects.data ? chosenProject(asked, projects.data) : null;
  useTitle(TITLES[tab], "Settings");
  return (
    <>
      <PageHead title="Settings" />
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(wanted) => {
          const found = TABS.find((one) => one === wanted);
          if (found === undefined) return;
          void navigate({
            search: (previous) =>
              withoutNothing({
                ...keepProject(previous),
                tab: found === "tokens" ? undefined : found,
              }),
          });
        }}
      >
        <TabRow chosen={tab}>
          {TABS.map((one) => (
            <Tabs.Tab key={one} value={one} className={classes.tab}>
              {TITLES[one]}
            </Tabs.Tab>
          ))}
        </TabRow>
        {session.data !== undefined && (
          <Tabs.Panel value={tab}>
            <Boundary key={tab}>
              {tab === "tokens" && <Tokens session={session.data} />}
              {tab === "members" && <Members session={session.data} />}
              {tab === "projects" && <Projects session={session.data} />}
              {tab === "limits" && <Limits session={session.data} project={project} />}
              {tab === "usage" && <Usage />}
              {tab === "retention" && <RetentionPart />}
              {tab === "audit" && <Audit />}
            </Boundary>
          </Tabs.Panel>
        )}
      </Tabs>
    </>
  );
}
