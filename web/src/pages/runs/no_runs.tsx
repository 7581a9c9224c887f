/** A table without runs says why, and what to do. */
import { Button } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import type { RunsChange, RunsSearch } from "@/pages/runs/address";
import { Empty } from "@/widgets/empty";

const FIRST_RUN = `import mapi

api = mapi.Client()
with api.runs.create(name="first") as run:
    for step in range(100):
        run.log({"loss": 1 / (step + 1)}, step=step)`;

export function NoRuns(props: {
  search: RunsSearch;
  scope: string | undefined;
  empty: ReactNode;
  onSearch: (change: RunsChange) => void;
}): ReactElement {
  const { search, scope, empty, onSearch } = props;
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
    <Empty title="This project has no runs yet." code={FIRST_RUN}>
      The first one appears here as soon as it begins. In Python:
    </Empty>
  );
}
