/** An error in the place of what could not be shown: what happened, and a way to try again. */
import { Alert, Button, Code } from "@mantine/core";
import type { ReactElement } from "react";
import { ApiError } from "@/api/client";
import classes from "@/widgets/failure.module.css";

export function Failure(props: {
  error: unknown;
  /** What could not be done. */
  title?: string;
  onRetry?: () => void;
  /** Whether it is being tried again. */
  isBusy?: boolean;
}): ReactElement {
  const { error, title = "This could not be shown", onRetry, isBusy = false } = props;
  const text = error instanceof Error ? error.message : String(error);
  const id = error instanceof ApiError ? error.problem?.request_id : undefined;
  return (
    <Alert color="red" variant="outline" role="alert" title={title} className={classes.failure}>
      <p>{text}</p>
      {id !== undefined && id !== "" && (
        <p>
          The server&apos;s log knows it as <Code>{id}</Code>.
        </p>
      )}
      {onRetry !== undefined && (
        <Button variant="default" loading={isBusy} onClick={onRetry}>
          Try again
        </Button>
      )}
    </Alert>
  );
}
