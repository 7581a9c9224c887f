/** How much of what is allowed is used, as a bar. */
import type { ReactElement } from "react";
import classes from "@/widgets/share_bar.module.css";

/** Returns the share of a limit that is used, 0 to 1; null where there is no such share. */
export function shareOf(used: number | null, limit: number | "unlimited"): number | null {
  if (used === null || limit === "unlimited") return null;
  return limit === 0 ? 1 : Math.min(used / limit, 1);
}

/** Beside it stand the numbers: to those who do not see it, it says nothing more. */
export function ShareBar(props: { share: number | null }): ReactElement | null {
  const { share } = props;
  if (share === null) return null;
  return (
    <span className={classes.track} data-full={share === 1} aria-hidden="true">
      <span style={{ width: `${share * 100}%` }} />
    </span>
  );
}
