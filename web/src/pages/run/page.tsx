/** The page of one run: who it is, how it stands, and a tab for each kind of what it logged. */
import { Skeleton, Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ComponentType, lazy, type ReactElement, Suspense, useEffect, useRef } from "react";
import { ApiError } from "@/api/client";
import { wholeNumber } from "@/base/numbers";
import { useOwnProject } from "@/pages/own_project";
import { RUN_TABS, type RunTab } from "@/pages/run/address";
import { RunHeader } from "@/pages/run/header/header";
import classes from "@/pages/run/page.module.css";
import { childrenQuery } from "@/state/children";
import { useRefresh } from "@/state/refresh";
import { isLive, type Run, runKey, runQuery } from "@/state/run";
import { useRunStream } from "@/state/run_events";
import { Answer } from "@/widgets/answer";
import { Boundary } from "@/widgets/boundary";
import { Failure } from "@/widgets/failure";
import { useTitle } from "@/widgets/title";

const route = getRouteApi("/runs/$run");

/** Each tab is loaded when it is first opened. */
const TABS: Record<RunTab, { label: string; Content: ComponentType<{ run: Run }> }> = {
  charts: {
    label: "Charts",
    Content: lazy(async () => ({ default: (await import("@/pages/run/charts/tab")).ChartsTab })),
  },
  params: {
    label: "Params",
    Content: lazy(async () => ({ default: (await import("@/pages/run/params/tab")).ParamsTab })),
  },
  logs: {
    label: "Logs",
    Content: lazy(async () => ({ default: (await import("@/pages/run/logs/tab")).LogsTab })),
  },
  media: {
    label: "Media",
    Content: lazy(async () => ({ default: (await import("@/pages/run/media/tab")).MediaTab })),
  },
  timeline: {
    label: "Timeline",
    Content: lazy(async () => ({
      default: (await import("@/pages/run/timeline/tab")).TimelineTab,
    })),
  },
  events: {
    label: "Events",
    Content: lazy(async () => ({ default: (await import("@/pages/run/events/tab")).EventsTab })),
  },
  overview: {
    label: "Overview",
    Content: lazy(async () => ({
      default: (await import("@/pages/run/overview/tab")).OverviewTab,
    })),
  },
  children: {
    label: "Children",
    Content: lazy(async () => ({
      default: (await import("@/pages/run/children/tab")).ChildrenTab,
    })),
  },
};

export function RunPage(): ReactElement {
  const { run } = route.useParams();
  // Another run is another page: no draft and no place in a list goes along.
  return <OneRun key={run} id={run} />;
}

function OneRun(props: { id: string }): ReactElement {
  const { tab = "charts" } = route.useSearch();
  const navigate = route.useNavigate();
  const run = useQuery(runQuery(props.id));
  const stream = useRunStream(props.id);
  useOwnProject(run.data?.project);
  useTitle(run.data === undefined ? null : run.data.name || props.id);

  const children = useChildren(run.data);
  const list = useRef<HTMLDivElement>(null);
  const isRead = run.data !== undefined;
  // On a phone the tabs are wider than the window.
  useEffect(() => {
    const chosen = list.current?.querySelector("[aria-selected='true']");
    chosen?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [tab, isRead]);

  if (stream.isGone) return <Gone text="This run was deleted for good." />;
  const { Content } = TABS[tab];
  return (
    <Answer
      found={run}
      waiting={<Waiting />}
      refused={(error) =>
        error instanceof ApiError && error.status === 404 ? (
          <Gone text="There is no run at this address, or you may not see it." />
        ) : null
      }
    >
      {(known) => (
        // The log fills what is left of the window: its newest line stands in sight.
        <div className={classes.page} data-fills={tab === "logs"}>
          <RunHeader run={known} readAt={run.dataUpdatedAt} stream={stream.state} />
          <Tabs
            value={tab}
            keepMounted={false}
            classNames={{ root: classes.parts, list: classes.tabs, tab: classes.tab }}
            onChange={(to) => {
              const chosen = RUN_TABS.find((name) => name === to);
              if (chosen === undefined) return;
              void navigate({
                search: (previous) => ({
                  ...previous,
                  tab: chosen === "charts" ? undefined : chosen,
                }),
              });
            }}
          >
            <Tabs.List ref={list} aria-label="What the run logged">
              {RUN_TABS.filter((name) => name !== "children" || name === tab || children > 0).map(
                (name) => (
                  <Tabs.Tab key={name} value={name}>
                    {TABS[name].label}
                    {name === "children" && (
                      <span className={classes.count}> {wholeNumber(children)}</span>
                    )}
                  </Tabs.Tab>
                ),
              )}
            </Tabs.List>
            <Tabs.Panel value={tab} className={classes.panel}>
              <Boundary key={tab}>
                <Suspense fallback={<Skeleton height={240} />}>
                  <Content run={known} />
                </Suspense>
              </Boundary>
            </Tabs.Panel>
          </Tabs>
        </div>
      )}
    </Answer>
  );
}

/** Returns how many runs stand below a run, and keeps to it as more begin. */
function useChildren(run: Run | undefined): number {
  const found = useQuery({
    ...childrenQuery(run ?? { id: "", project: "" }),
    enabled: run !== undefined,
  });
  const total = found.data?.total ?? 0;
  // Below a run that has ended without any, hardly one begins: it costs no connection.
  const isFollowed = run !== undefined && (isLive(run) || total > 0);
  useRefresh(isFollowed ? run.project : null, [[...runKey(run?.id ?? ""), "children"]]);
  return total;
}

function Waiting(): ReactElement {
  return (
    <div className={classes.page} aria-busy="true" aria-label="The run is loading">
      <Skeleton height={28} width={320} />
      <Skeleton height={20} width={480} mt={8} />
      <Skeleton height={240} mt={24} />
    </div>
  );
}

function Gone(props: { text: string }): ReactElement {
  return (
    <div className={classes.page}>
      <Failure error={new Error(props.text)} />
      <p>
        <route.Link to="/runs" search={(previous) => ({ project: previous.project })}>
          See all runs
        </route.Link>
      </p>
    </div>
  );
}
