/** The comparison stays what the runs are while it is looked at. */
import type { ReactElement } from "react";
import type { RunRow } from "@/pages/compare/data";
import { useRefresh } from "@/state/refresh";
import { runKey, type Run } from "@/state/run";
import { ConnectionMark } from "@/widgets/connection";

export function Following(props: {
  runs: readonly RunRow[];
  facts: ReadonlyMap<string, Run>;
}): ReactElement {
  const { runs, facts } = props;
  const projects = [...new Set([...facts.values()].map(({ project }) => project))];
  return (
    <>
      {projects.map((project, at) => (
        <OneProject key={project} {...{ project, runs }} isShown={at === 0} />
      ))}
    </>
  );
}

function OneProject(props: {
  project: string;
  runs: readonly RunRow[];
  isShown: boolean;
}): ReactElement | null {
  const { project, runs, isShown } = props;
  const ids = runs.map(({ id }) => id);
  const state = useRefresh(
    project,
    [["compare"], ...ids.map((id) => [...runKey(id), "facts"])],
    (frame) => ids.some((id) => frame.runs.includes(id) || frame.deleted.includes(id)),
  );
  return isShown ? <ConnectionMark state={state} /> : null;
}
