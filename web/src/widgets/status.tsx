/** Where a run stands, by a shape, a colour and a word. */
import type { ReactElement } from "react";
import type { Schemas } from "@/api/client";
import classes from "@/widgets/status.module.css";

type RunStatus = Schemas["RunStatus"];

/** The shapes differ, so that colours need not be told apart. */
const MARKS: Record<RunStatus, string> = {
  queued: "◌",
  starting: "◐",
  running: "▶",
  succeeded: "✓",
  failed: "✕",
  cancelled: "◼",
  lost: "?",
};

export function StatusMark(props: { status: RunStatus; isShort?: boolean }): ReactElement {
  const { status, isShort = false } = props;
  return (
    <span className={classes.status} data-status={status} title={status}>
      <span aria-hidden="true" className={classes.mark}>
        {MARKS[status]}
      </span>
      <span className={isShort ? classes.hidden : undefined}>{status}</span>
    </span>
  );
}
