/** Who the run is and how it stands: name, status, experiment, relatives, tags, note, what was lost. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { duration, localTime, utcTime } from "@/base/times";
import { RunActions } from "@/pages/run/header/actions";
import { AttemptChoice } from "@/pages/run/header/attempts";
import { Fact } from "@/pages/run/header/fact";
import { Losses } from "@/pages/run/header/losses";
import { NoteText } from "@/pages/run/header/note";
import { isShortReason, Reason } from "@/pages/run/header/reason";
import { TagChips } from "@/pages/run/header/tags";
import { RunTitle } from "@/pages/run/header/title";
import classes from "@/pages/run/header/header.module.css";
import { sessionQuery } from "@/state/queries";
import { experimentQuery, mayWrite, type Run, runQuery } from "@/state/run";
import type { StreamState } from "@/state/events";
import { ConnectionMark } from "@/widgets/connection";
import { Copy } from "@/widgets/copy";
import { useNow } from "@/widgets/now";
import { StatusMark } from "@/widgets/status";

const route = getRouteApi("/runs/$run");

interface Props {
  run: Run;
  /** When `run` was read, in milliseconds since 1970. */
  readAt: number;
  stream: StreamState;
}

export function RunHeader(props: Props): ReactElement {
  const { run, readAt, stream } = props;
  const session = useQuery(sessionQuery);
  const canWrite = session.data !== undefined && mayWrite(session.data, run.project);
  const canChange = canWrite && run.trashed === null;
  const reason = run.reason ?? "";
  const isShort = reason !== "" && isShortReason(reason);
  return (
    <header>
      <ConnectionMark state={stream} />
      <div className={classes.top}>
        <RunTitle run={run} canChange={canChange} />
        <RunActions run={run} canWrite={canWrite} />
      </div>
      <dl className={classes.facts}>
        <Fact name="Status">
          <StatusMark status={run.status} />
        </Fact>
        {isShort && <Fact name="Reason">{reason}</Fact>}
        <Fact name="Duration">
          <Duration run={run} readAt={readAt} />
        </Fact>
        <Fact name="Started">
          <span title={utcTime(run.started ?? run.created)}>
            {localTime(run.started ?? run.created)}
          </span>
        </Fact>
        <Fact name="User">
          <span className={classes.cut} title={run.user}>
            {run.user || "–"}
          </span>
        </Fact>
        {run.kind !== "external" && <Fact name="Kind">{run.kind}</Fact>}
        {run.experiment !== null && (
          <Fact name="Experiment">
            <ExperimentName id={run.experiment} />
          </Fact>
        )}
        {run.parent !== null && (
          <Fact name="Parent">
            <RunLink id={run.parent} />
          </Fact>
        )}
        {run.retry_of != null && (
          <Fact name="Retry of">
            <RunLink id={run.retry_of} />
          </Fact>
        )}
        <AttemptChoice run={run} />
        <Fact name="Id">
          <code className={classes.id} title={run.id}>
            {shortId(run.id)}
          </code>
          <Copy text={run.id} label="Copy the id" />
        </Fact>
      </dl>
      {reason !== "" && !isShort && <Reason key={reason} text={reason} />}
      <div className={classes.extras}>
        <TagChips run={run} canChange={canChange} />
        <NoteText run={run} canChange={canChange} />
      </div>
      <Losses run={run} canWrite={canWrite} />
    </header>
  );
}

/** The last characters tell ids of one hour apart; the first ones are their time. */
function shortId(id: string): string {
  return `…${id.slice(-8)}`;
}

function Duration(props: { run: Run; readAt: number }): ReactElement {
  const { run, readAt } = props;
  const isRunning = run.status === "running" && run.duration_seconds !== null;
  const now = useNow(isRunning ? 1_000 : null);
  // The server's clock said how long it was; ours only says how much later it is.
  const since = isRunning ? Math.max(0, now - readAt) / 1_000 : 0;
  return <>{duration(run.duration_seconds === null ? null : run.duration_seconds + since)}</>;
}

function ExperimentName(props: { id: string }): ReactElement {
  const experiment = useQuery(experimentQuery(props.id));
  const name = experiment.data?.name ?? shortId(props.id);
  return (
    <route.Link
      className={classes.cut}
      to="/experiments/$experiment"
      params={{ experiment: props.id }}
      search={(previous) => ({ project: previous.project })}
      title={name}
    >
      {name}
    </route.Link>
  );
}

function RunLink(props: { id: string }): ReactElement {
  const run = useQuery(runQuery(props.id));
  const name = run.data?.name || shortId(props.id);
  return (
    <route.Link
      className={classes.cut}
      to="/runs/$run"
      params={{ run: props.id }}
      search={(previous) => ({ project: previous.project })}
      title={name}
    >
      {name}
    </route.Link>
  );
}
