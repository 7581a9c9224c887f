/** Why a run ended as it did, where that is more than a few words. */
import type { ReactElement } from "react";
import { Cut } from "@/pages/run/header/cut";
import classes from "@/pages/run/header/header.module.css";

/** So many letters stand among the other facts. */
const SHORT = 48;
/** Two lines. */
const HEIGHT = 40;

export function isShortReason(text: string): boolean {
  return text.length <= SHORT && !text.includes("\n");
}

export function Reason(props: { text: string }): ReactElement {
  return (
    <div className={classes.reason}>
      <span>Reason</span>
      <Cut label="Reason" height={HEIGHT}>
        <p>{props.text}</p>
      </Cut>
    </div>
  );
}
