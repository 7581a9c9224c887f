/** The run's name, which is changed where it stands. */
import { Button, TextInput } from "@mantine/core";
import type { ReactElement } from "react";
import { Conflict } from "@/pages/run/header/conflict";
import { useDraft } from "@/pages/run/header/draft";
import classes from "@/pages/run/header/header.module.css";
import type { Run } from "@/state/run";
import { Pencil } from "@/widgets/pencil";

/** The server's limit, in characters. */
const NAME_LENGTH_MAX = 200;

/** Longer ones are a path or a sentence, and would fill the head. */
const LONG_NAME = 80;

export function RunTitle(props: { run: Run; canChange: boolean }): ReactElement {
  const { run, canChange } = props;
  const draft = useDraft(run, "name");
  if (!draft.isOpen) {
    return (
      <div className={classes.title} data-long={run.name.length > LONG_NAME}>
        <h1 dir="auto">{run.name || "(no name)"}</h1>
        {canChange && <Pencil label="Change the name" onClick={draft.open} />}
      </div>
    );
  }
  return (
    <form
      className={classes.titleField}
      onSubmit={(event) => {
        event.preventDefault();
        draft.save();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") draft.close();
      }}
    >
      <div className={classes.row}>
        <TextInput
          aria-label="Name of the run"
          data-autofocus
          autoFocus
          value={draft.text}
          maxLength={NAME_LENGTH_MAX}
          className={classes.titleField}
          onChange={(event) => {
            draft.change(event.currentTarget.value);
          }}
        />
        <Button type="submit" loading={draft.isSaving}>
          Save
        </Button>
        <Button variant="default" onClick={draft.close}>
          Cancel
        </Button>
      </div>
      <Conflict draft={draft} />
    </form>
  );
}
