/** A text in Markdown that whoever may can change in its place. */
import { Button, SegmentedControl, Textarea, UnstyledButton } from "@mantine/core";
import { useState, type ReactElement } from "react";
import classes from "@/widgets/editable_markdown.module.css";
import { Failure } from "@/widgets/failure";
import { MarkdownText } from "@/widgets/markdown";

interface EditableMarkdownProps {
  text: string;
  /** What the text is, for those who do not see where it stands. */
  label: string;
  mayEdit: boolean;
  /** Said where there is no text. */
  empty: string;
  /** Keeps a changed text; what it throws is shown, and the draft stays. */
  onSave: (text: string) => Promise<void>;
}

export function EditableMarkdown(props: EditableMarkdownProps): ReactElement {
  const { text, label, mayEdit, empty, onSave } = props;
  const [draft, setDraft] = useState<string | null>(null);
  if (draft !== null) {
    return (
      <Editor
        {...{ draft, label, setDraft }}
        onSave={async () => {
          if (draft !== text) await onSave(draft);
          setDraft(null);
        }}
      />
    );
  }
  const begin = (): void => {
    setDraft(text);
  };
  if (text.trim() === "") {
    return mayEdit ? (
      <UnstyledButton className={classes.empty} onClick={begin}>
        {empty}
      </UnstyledButton>
    ) : (
      <p className={classes.none}>None.</p>
    );
  }
  return (
    <div className={classes.shown}>
      <MarkdownText text={text} />
      {mayEdit && (
        <Button variant="default" size="compact-xs" onClick={begin} aria-label={`Edit: ${label}`}>
          Edit
        </Button>
      )}
    </div>
  );
}

function Editor(props: {
  draft: string;
  label: string;
  setDraft: (draft: string | null) => void;
  onSave: () => Promise<void>;
}): ReactElement {
  const { draft, label, setDraft, onSave } = props;
  const [view, setView] = useState<"write" | "preview">("write");
  const [failure, setFailure] = useState<unknown>(null);
  const [isSaving, setSaving] = useState(false);
  const save = (): void => {
    setSaving(true);
    setFailure(null);
    onSave()
      .catch(setFailure)
      .finally(() => {
        setSaving(false);
      });
  };
  return (
    <div
      className={classes.editor}
      onKeyDown={(event) => {
        if (event.key === "Escape") setDraft(null);
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
      }}
    >
      <SegmentedControl
        aria-label={`${label}: write or preview`}
        value={view}
        onChange={setView}
        data={[
          { value: "write", label: "Write" },
          { value: "preview", label: "Preview" },
        ]}
      />
      {view === "write" ? (
        <Textarea
          aria-label={label}
          description="Markdown; Ctrl+Enter saves, Esc leaves it as it was"
          inputWrapperOrder={["input", "description"]}
          autosize
          minRows={4}
          maxRows={14}
          maxLength={20_000}
          data-autofocus
          autoFocus
          value={draft}
          onChange={(event) => {
            setDraft(event.currentTarget.value);
          }}
        />
      ) : (
        <div className={classes.preview}>
          <MarkdownText text={draft} />
        </div>
      )}
      {failure !== null && <Failure error={failure} title="This was not saved" />}
      <div className={classes.buttons}>
        <Button onClick={save} loading={isSaving}>
          Save
        </Button>
        <Button
          variant="default"
          onClick={() => {
            setDraft(null);
          }}
        >
          Cancel
        </Button>
      </div>
    </div>
  );
}
