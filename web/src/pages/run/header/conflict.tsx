/** Two people changed one field: what the other wrote, and the two ways on. */
import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import type { Draft } from "@/pages/run/header/draft";
import classes from "@/pages/run/header/header.module.css";

export function Conflict(props: { draft: Draft }): ReactElement | null {
  const { draft } = props;
  if (draft.theirs === null) {
    return draft.error === null ? null : (
      <p role="alert" className={classes.error}>
        {draft.error.message}
      </p>
    );
  }
  return (
    <div role="alert" className={classes.conflict}>
      <p>Somebody changed this while you wrote. It now says:</p>
      <p>{draft.theirs === "" ? <em>nothing</em> : draft.theirs}</p>
      <div className={classes.row}>
        <Button variant="default" onClick={draft.overwrite}>
          Replace it with mine
        </Button>
        <Button variant="default" onClick={draft.close}>
          Keep theirs
        </Button>
      </div>
    </div>
  );
}
