/** The project of an address is not there, or is not for this viewer: which ones there are. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Fragment, type ReactElement, useEffect, useEffectEvent } from "react";
import { ApiError } from "@/api/client";
import { projectsQuery } from "@/state/projects";
import { Empty } from "@/widgets/empty";

/** How often projects are asked for where the one that is shown has nothing: the first run makes one. */
const LOOK_MS = 3_000;
const NAMED_MAX = 8;
/** What needs no quotes in a shell. */
const PLAIN = /^[\w./-]+$/;

/** Returns whether an error says that there is no such project. */
export function isNoProject(error: Error | null): boolean {
  if (!(error instanceof ApiError) || error.status !== 422) return false;
  return (error.problem?.errors ?? []).some(({ pointer }) => pointer.endsWith("/project"));
}

export function NoProject(props: {
  project: string;
  /** Hears that it is there now. */
  onThere: () => void;
}): ReactElement {
  const { project, onThere } = props;
  const projects = useQuery({ ...projectsQuery, refetchInterval: LOOK_MS });
  const isThere = projects.data?.some(({ name }) => name === project) === true;
  const tell = useEffectEvent(onThere);
  useEffect(() => {
    if (isThere) tell();
  }, [isThere]);
  return (
    <Empty
      title={`There is no project “${project}” that you can see.`}
      code={`mapi projects create ${inShell(project)}`}
    >
      The first run that is brought here under its name makes it, and so does an admin.
      <OtherProjects project={project} />
    </Empty>
  );
}

/** Runs that are brought here may have made a project that is called as their own. */
export function OtherProjects(props: { project: string }): ReactElement | null {
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

function inShell(text: string): string {
  const word = PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
  // What begins as an option does is none.
  return text.startsWith("-") ? `-- ${word}` : word;
}
