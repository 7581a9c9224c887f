/** Retention: how long what is kept. The operator sets it; here stands how. */
import type { ReactElement } from "react";
import classes from "@/pages/settings/settings.module.css";
import { Empty } from "@/widgets/empty";

const SET = `MAPI_TRASH_DAYS=30                  # runs in the trash, then gone for good
MAPI_TRACKING_RETENTION_DAYS=90     # points with a step, log lines, spans of runs that ended
MAPI_MEDIA_RETENTION_DAYS=30        # images and tables`;
const LOOK = `mapi admin retention --dry-run      # what would go now, by project; deletes nothing
mapi admin retention ls             # rules that keep runs whatever their age
mapi admin retention set --project default --best 10 --by metrics.loss.min`;

export function RetentionPart(): ReactElement {
  return (
    <>
      <div className={classes.about}>
        <p>
          Nothing is deleted for its age unless the operator sets a number of days. Summaries,
          params, tags, names and notes stay in any case, and every page says of what it shows how
          much is gone.
        </p>
      </div>
      <Empty title="Days are settings of the server" code={SET}>
        They stand in the environment of mapi serve, and hold from its next start on.
      </Empty>
      <Empty title="What would go, and what is kept" code={LOOK}>
        The operator asks on the server&apos;s machine.
      </Empty>
    </>
  );
}
