/** A table without runs says why, and what to do. */
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Fragment, type ReactElement, type ReactNode } from "react";
import { curvesProgram } from "@/base/programs";
import type { RunsChange, RunsSearch } from "@/pages/runs/address";
import { projectsQuery } from "@/state/projects";
import { Empty } from "@/widgets/empty";

/** How often projects are asked for where the one that is shown has nothing: the first run makes one. */
const LOOK_MS = 3_000;
const NAMED_MAX = 8;

export function NoRuns(props: {
  project: string;
  search: RunsSearch;
  scope: string | undefined;
  empty: ReactNode;
  onSearch: (change: RunsChange) => void;
}): ReactElement {
  const { project, search, scope, empty, onSearch } = props;
  if (search.trash === true) return <Empty title="The trash is empty." />;
  if (search.filter !== undefined) {
    return (
      <Empty title="No run matches the filter.">
        <Button
          variant="default"
          onClick={() => {
            onSearch({ filter: undefined });
          }}
        >
          Clear the filter
        </Button>
      </Empty>
    );
  }
  if (scope !== undefined) {
    return empty !== undefined ? (
      <>{empty}</>
    ) : (
      <Empty title="No run is in here.">
        Choose runs in the table of all runs, and move them here.
      </Empty>
    );
  }
  return (
    <Empty title="This project has no runs yet." code={curvesProgram(project)}>
      The first one appears here as soon as it begins.
      <OtherProjects project={project} /> In Python:
    </Empty>
  );
}

/** Runs that are brought here may have made a project that is called as their own. */
function OtherProjects(props: { project: string }): ReactElement | null {
  const projects = useQuery({ ...projectsQuery, refetchInterval: LOOK_MS });
  // The one that was made just now is the one that is looked for.
  const others = (projects.data ?? [])
    .filter(({ name }) => name !== props.project)
    .sort((one, other) => Date.parse(other.created) - Date.parse(one.created));
  if (others.length === 0) return null;
  return (
    <>
      {" "}
      Other projects:{" "}
      {others.slice(0, NAMED_MAX).map(({ name }, at) => (
        <Fragment key={name}>
          {at > 0 && ", "}
          <Link to="/runs" search={{ project: name }}>
            {name}
          </Link>
        </Fragment>
      ))}
      {others.length > NAMED_MAX && ", …"}.
    </>
  );
}
