/** The page Runs. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useCallback } from "react";
import { changedSearch, type RunsChange } from "@/pages/runs/address";
import { SavedViews } from "@/pages/runs/saved_views";
import { RunsView } from "@/pages/runs/view";
import classes from "@/pages/runs/view.module.css";
import { WaitingRows } from "@/pages/runs/waiting_rows";
import { chosenProject, projectsQuery } from "@/state/projects";
import { Empty } from "@/widgets/empty";
import { Failure } from "@/widgets/failure";
import { SidePart } from "@/widgets/shell_parts";
import { useTitle } from "@/widgets/title";

const route = getRouteApi("/runs");

export function RunsPage(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const projects = useQuery(projectsQuery);
  const onSearch = useCallback(
    (change: RunsChange) => {
      void navigate({
        search: (before) => changedSearch(before, change),
        // Choosing runs is no step of a way back.
        replace: "chosen" in change,
      });
    },
    [navigate],
  );
  const known = projects.data && chosenProject(search.project, projects.data);
  useTitle("Runs", known);
  if (projects.data === undefined) {
    return projects.error === null ? (
      <WaitingRows />
    ) : (
      <Failure error={projects.error} onRetry={() => void projects.refetch()} />
    );
  }
  const project = chosenProject(search.project, projects.data);
  if (project === null) return <Empty title="You are a member of no project yet." />;
  return (
    <div className={classes.page}>
      <SidePart>
        <SavedViews project={project} search={search} onSearch={onSearch} />
      </SidePart>
      <RunsView key={project} project={project} search={search} onSearch={onSearch} />
    </div>
  );
}
