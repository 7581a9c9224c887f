/** Runs side by side: what is different in them, and what came of it. */
import { Skeleton, Switch } from "@mantine/core";
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { counted } from "@/base/counts";
import { withoutNothing } from "@/pages/address";
import { AddRun } from "@/pages/compare/add_run";
import {
  idsFromText,
  RUNS_MAX,
  RUNS_MIN,
  textFromIds,
  type CompareSearch,
} from "@/pages/compare/address";
import classes from "@/pages/compare/compare.module.css";
import { comparisonQuery, whyMissing } from "@/pages/compare/data";
import { Following } from "@/pages/compare/following";
import { useOwnProject } from "@/pages/own_project";
import { Missing, TooMany } from "@/pages/compare/problems";
import { Sections } from "@/pages/compare/sections";
import { chosenProject, projectsQuery } from "@/state/projects";
import { runQuery } from "@/state/run";
import { Answer } from "@/widgets/answer";
import { Empty } from "@/widgets/empty";
import { PageHead } from "@/widgets/page_head";
import { SearchBox } from "@/widgets/search_box";
import { useTitle } from "@/widgets/title";

const route = getRouteApi("/compare");

export function ComparePage(): ReactElement {
  const search = route.useSearch();
  const { project: asked } = search;
  const navigate = useNavigate({ from: "/compare" });
  const projects = useQuery(projectsQuery);
  const ids = idsFromText(search.ids);
  useTitle(ids.length === 0 ? "Compare" : `Compare ${counted(ids.length, "run")}`);
  const isTooMany = ids.length > RUNS_MAX;
  const change = (part: Partial<CompareSearch>, isNew = true): void => {
    void navigate({
      replace: !isNew,
      search: (previous) => withoutNothing({ ...previous, ...part }),
    });
  };
  const choose = (chosen: readonly string[]): void => {
    change({ ids: undefined, ...textFromIds(chosen) });
  };
  return (
    <>
      <PageHead title="Compare" said={ids.length === 0 ? undefined : counted(ids.length, "run")}>
        {ids.length >= RUNS_MIN && !isTooMany && (
          <>
            <Switch
              label="Show what is the same"
              checked={search.all === true}
              onChange={(event) => {
                change({ all: event.currentTarget.checked ? true : undefined });
              }}
            />
            <SearchBox
              className={classes.find}
              label="Find a key"
              placeholder="Find a key"
              value={search.q ?? ""}
              onSeek={(text) => {
                change({ q: text === "" ? undefined : text }, false);
              }}
            />
          </>
        )}
        {ids.length < RUNS_MAX && (
          <AddRun
            project={projects.data ? chosenProject(asked, projects.data) : null}
            ids={ids}
            onAdd={(run) => {
              choose([...ids, run]);
            }}
          />
        )}
      </PageHead>
      {ids.length === 0 ? (
        <Empty title="No runs are chosen yet">
          A comparison has {RUNS_MIN} to {RUNS_MAX} runs. Mark them in{" "}
          <Link to="/runs">the table of runs</Link> and take “Compare” there, or add them here one
          by one.
        </Empty>
      ) : isTooMany ? (
        <TooMany ids={ids} onChoose={choose} />
      ) : (
        <Chosen {...{ ids, search, choose, change }} />
      )}
    </>
  );
}

function Chosen(props: {
  ids: readonly string[];
  search: CompareSearch;
  choose: (ids: readonly string[]) => void;
  change: (part: Partial<CompareSearch>) => void;
}): ReactElement {
  const { ids, search, choose, change } = props;
  const facts = useQueries({
    queries: ids.map((id) => ({ ...runQuery(id), staleTime: 0 })),
  });
  // Of a run that was deleted for good while it was compared, what was read of it is no more.
  const known = new Map(
    facts.flatMap(({ data, error }, at) =>
      data === undefined || whyMissing(error) !== null ? [] : [[ids[at] ?? "", data] as const],
    ),
  );
  const isSettled = facts.every(({ isPending }) => !isPending);
  const projects = new Set([...known.values()].map(({ project }) => project));
  useOwnProject(isSettled && projects.size === 1 ? [...projects][0] : undefined);
  const found = isSettled ? ids.filter((id) => known.has(id)) : [];
  const isComparable = found.length >= RUNS_MIN;
  const comparison = useQuery({
    ...comparisonQuery(found),
    enabled: isComparable,
    // The others stay in sight while one comes or goes.
    placeholderData: isComparable ? keepPreviousData : undefined,
  });
  const remove = (run: string): void => {
    choose(ids.filter((id) => id !== run));
  };
  return (
    <>
      <Following ids={ids} facts={facts.flatMap(({ data }) => data ?? [])} />
      {facts.map(({ error, data, refetch }, at) => {
        const id = ids[at] ?? "";
        const isGone = whyMissing(error) !== null;
        return error !== null && (data === undefined || isGone) ? (
          <Missing key={id} {...{ id, error }} onRemove={remove} onRetry={() => void refetch()} />
        ) : data !== undefined && data.trashed !== null ? (
          <Missing key={id} id={id} run={data} onRemove={remove} />
        ) : null;
      })}
      {isSettled && !isComparable && (
        <Empty
          title={found.length === 1 ? "One run is no comparison" : "None of these can be read"}
        >
          A comparison has {RUNS_MIN} to {RUNS_MAX} runs: add{" "}
          {found.length === 1 ? "another one" : "some"} above, or mark them in{" "}
          <Link to="/runs">the table of runs</Link>.
        </Empty>
      )}
      {(isComparable || !isSettled) && (
        <Answer found={comparison} waiting={<Waiting />}>
          {(read) => (
            <Sections comparison={read} {...{ known, search, change }} onRemove={remove} />
          )}
        </Answer>
      )}
    </>
  );
}

function Waiting(): ReactElement {
  return (
    <div className={classes.padded} role="status" aria-busy="true" aria-label="Loading">
      {Array.from({ length: 12 }, (_, at) => (
        <Skeleton key={at} height={16} my={16} />
      ))}
    </div>
  );
}
