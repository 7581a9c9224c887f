/** What the viewer should know before reading on: the trash, what budgets dropped, what is deleted. */
import { Button } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { countsText } from "@/base/counts";
import { localTime, utcTime } from "@/base/times";
import { useRunAction } from "@/pages/run/header/action";
import classes from "@/pages/run/header/header.module.css";
import type { Run } from "@/state/run";

const route = getRouteApi("/runs/$run");

export function Losses(props: { run: Run; canWrite: boolean }): ReactElement | null {
  const { run, canWrite } = props;
  const restore = useRunAction(run.id, "restore");
  const dropped = countsText(run.dropped ?? {});
  const pruned = run.pruned == null ? "" : prunedText(run.pruned);
  const trashed = run.trashed ?? null;
  if (trashed === null && dropped === "" && pruned === "") return null;
  return (
    <div className={classes.losses}>
      {trashed !== null && (
        <div className={classes.loss}>
          <strong>In the trash</strong>
          <span title={utcTime(trashed)}>
            since {localTime(trashed)}: it takes no changes, and is deleted for good after a while.
          </span>
          {canWrite && (
            <Button
              variant="default"
              loading={restore.isPending}
              onClick={() => {
                restore.mutate();
              }}
            >
              Restore
            </Button>
          )}
          {restore.error && <span className={classes.error}>{restore.error.message}</span>}
        </div>
      )}
      {dropped !== "" && (
        <div className={classes.loss}>
          <strong>Not all was kept</strong>
          <span>Budgets dropped {dropped}.</span>
          <route.Link to="." search={(previous) => ({ ...previous, tab: "events" as const })}>
            See the warnings
          </route.Link>
        </div>
      )}
      {pruned !== "" && (
        <div className={classes.loss} data-kind="quiet">
          <span>Retention has deleted {pruned} for their age. Summaries stay.</span>
        </div>
      )}
    </div>
  );
}

function prunedText(pruned: NonNullable<Run["pruned"]>): string {
  return countsText({
    points: pruned.points ?? 0,
    "log lines": pruned.log_lines ?? 0,
    spans: pruned.spans ?? 0,
    "media items": pruned.media_items ?? 0,
  });
}
