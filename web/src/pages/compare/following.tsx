/** The comparison stays what the runs are while it is looked at. */
import type { ReactElement } from "react";
import { useRefresh } from "@/state/refresh";
import { runKey, type Run } from "@/state/run";
import { ConnectionMark } from "@/widgets/connection";

export function Following(props: {
  ids: readonly string[];
  /** Runs that could be read once: one that is gone since is heard of in its project. */
  facts: readonly Run[];
}): ReactElement {
  const { ids, facts } = props;
  const projects = [...new Set(facts.map(({ project }) => project))];
  return (
    <>
      {projects.map((project, at) => (
        <OneProject key={project} {...{ project, ids }} isShown={at === 0} />
      ))}
    </>
  );
}

function OneProject(props: {
  project: string;
  ids: readonly string[];
  isShown: boolean;
}): ReactElement | null {
  const { project, ids, isShown } = props;
  const state = useRefresh(
    project,
    [["compare"], ...ids.map((id) => [...runKey(id), "facts"])],
    (frame) => ids.some((id) => frame.runs.includes(id) || frame.deleted.includes(id)),
  );
  return isShown ? <ConnectionMark state={state} /> : null;
}
