/** Whether a page hears of changes at once: nothing where it does, a mark where it does not. */
import type { ReactElement } from "react";
import type { StreamState } from "@/state/events";
import classes from "@/widgets/connection.module.css";

export function ConnectionMark(props: { state: StreamState }): ReactElement {
  const isLost = props.state === "lost";
  return (
    <span className={classes.mark} data-state={props.state} role="status">
      <span aria-hidden="true" className={classes.dot} />
      {isLost ? "Connection lost, trying again …" : props.state === "live" ? "Live" : ""}
    </span>
  );
}
