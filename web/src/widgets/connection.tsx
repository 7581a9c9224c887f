/**
 * Whether a page hears of changes at once: a mark in the head, in one place for every page.
 *
 * While it is not known yet there is none.
 */
import type { ReactElement } from "react";
import type { StreamState } from "@/state/events";
import classes from "@/widgets/connection.module.css";
import { HeadPart } from "@/widgets/shell_parts";

const SAID: Record<StreamState, string> = {
  connecting: "",
  live: "Live",
  lost: "Connection lost, trying again …",
};

export function ConnectionMark(props: { state: StreamState }): ReactElement {
  const { state } = props;
  return (
    <HeadPart>
      <span
        className={classes.mark}
        data-state={state}
        role="status"
        title={state === "live" ? "What changes is shown at once" : undefined}
      >
        <span aria-hidden="true" className={classes.dot} />
        <span className={classes.said}>{SAID[state]}</span>
      </span>
    </HeadPart>
  );
}
