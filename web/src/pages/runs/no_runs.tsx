/** A table without runs says why, and what to do. */
import { Button } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { curvesProgram } from "@/base/programs";
import { OtherProjects } from "@/pages/no_project";
import type { RunsChange, RunsSearch } from "@/pages/runs/address";
import { Empty } from "@/widgets/empty";

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
