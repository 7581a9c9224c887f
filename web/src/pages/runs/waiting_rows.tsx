/** Where rows will be: a table that is on its way. */
import { Skeleton } from "@mantine/core";
import type { ReactElement } from "react";
import classes from "@/pages/runs/view.module.css";

/** As many as a screen has. */
const ROWS = 16;

export function WaitingRows(): ReactElement {
  return (
    <div role="status" aria-busy="true" aria-label="Runs are loading">
      {Array.from({ length: ROWS }, (_, at) => (
        <div key={at} className={classes.skeleton}>
          <Skeleton height={12} width={12} />
          <Skeleton height={8} width={72} />
          <Skeleton height={8} width={180 + ((at * 53) % 120)} />
          <Skeleton height={8} width={96} />
          <Skeleton height={8} width={120} />
        </div>
      ))}
    </div>
  );
}
