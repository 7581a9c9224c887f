/** Above something that was read once and could not be read anew: why, and a way to try again. */
import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import classes from "@/widgets/stale.module.css";

export function Stale(props: { error: Error; isBusy: boolean; onRetry: () => void }): ReactElement {
  const { error, isBusy, onRetry } = props;
  return (
    <div className={classes.stale} role="status">
      <span>
        <strong>Not up to date.</strong> {error.message}
      </span>
      <Button variant="default" size="compact-xs" loading={isBusy} onClick={onRetry}>
        Try again
      </Button>
    </div>
  );
}
