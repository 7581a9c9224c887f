/** The run's note: Markdown, which is changed where it stands. */
import { Button, Textarea } from "@mantine/core";
import { lazy, type ReactElement, Suspense } from "react";
import { Conflict } from "@/pages/run/header/conflict";
import { Cut } from "@/pages/run/header/cut";
import { useDraft } from "@/pages/run/header/draft";
import classes from "@/pages/run/header/header.module.css";
import type { Run } from "@/state/run";
import { Pencil } from "@/widgets/pencil";

/** The parser of Markdown is as large as the rest of the page: it comes with the first note. */
const MarkdownText = lazy(async () => ({
  default: (await import("@/widgets/markdown")).MarkdownText,
}));

/** Three lines of text. */
const NOTE_HEIGHT = 64;
/** The server's limit, in characters. */
const NOTE_LENGTH_MAX = 20_000;

export function NoteText(props: { run: Run; canChange: boolean }): ReactElement | null {
  const { run, canChange } = props;
  const draft = useDraft(run, "note");
  if (draft.isOpen) {
    return (
      <form
        className={classes.noteForm}
        onSubmit={(event) => {
          event.preventDefault();
          draft.save();
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") draft.close();
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) draft.save();
        }}
      >
        <Textarea
          aria-label="Note, as Markdown"
          autoFocus
          autosize
          minRows={4}
          maxRows={20}
          maxLength={NOTE_LENGTH_MAX}
          value={draft.text}
          onChange={(event) => {
            draft.change(event.currentTarget.value);
          }}
        />
        <div className={classes.row}>
          <Button type="submit" loading={draft.isSaving}>
            Save
          </Button>
          <Button variant="default" onClick={draft.close}>
            Cancel
          </Button>
          <span className={classes.chipKey}>Markdown</span>
        </div>
        <Conflict draft={draft} />
      </form>
    );
  }
  if (run.note === "") {
    return canChange ? (
      <div className={classes.addNote}>
        <Button variant="subtle" color="gray" size="compact-xs" fw={400} onClick={draft.open}>
          Add a note
        </Button>
      </div>
    ) : null;
  }
  return (
    <div className={classes.note}>
      <Cut label="Note" height={NOTE_HEIGHT}>
        <Suspense fallback={run.note.slice(0, 200)}>
          <MarkdownText text={run.note} />
        </Suspense>
      </Cut>
      {canChange && <Pencil label="Change the note" onClick={draft.open} />}
    </div>
  );
}
