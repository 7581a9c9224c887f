/** What can be done with the runs that are chosen. */
import { Autocomplete, Button, Popover, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { wholeNumber } from "@/base/numbers";
import {
  moveRuns,
  namedExperiment,
  openExperiments,
  type Outcome,
  restoreRuns,
  tagRuns,
  trashRuns,
} from "@/pages/runs/acting";
import { count } from "@/pages/runs/news";
import classes from "@/pages/runs/view.module.css";
import { fieldsQuery } from "@/state/fields";
import { Confirm } from "@/widgets/confirm";
import { tell } from "@/widgets/notice";

export const COMPARED_MIN = 2;
export const COMPARED_MAX = 10;

interface ChosenProps {
  project: string;
  chosen: ReadonlySet<string>;
  /** Those of them that the table does not show. */
  unseen: readonly string[];
  isTrash: boolean;
  /** Hears of runs that are to be chosen no longer. */
  onLeave: (ids: readonly string[]) => void;
  onCompare: (ids: string[]) => void;
  /** Hears of runs that this page takes out of its list. */
  onGone: (ids: readonly string[]) => void;
  /** Hears of runs that it puts back. */
  onBack: (ids: readonly string[]) => void;
}

export function ChosenBar(props: ChosenProps): ReactElement {
  const { project, chosen, unseen, isTrash, onLeave, onGone, onBack } = props;
  const ids = [...chosen];
  const isComparable = ids.length >= COMPARED_MIN && ids.length <= COMPARED_MAX;
  const [isBusy, setIsBusy] = useState(false);
  const [isAsking, setIsAsking] = useState(false);

  const act = async (work: () => Promise<Outcome>, text: string): Promise<Outcome> => {
    setIsBusy(true);
    try {
      const outcome = await work();
      report(outcome, text);
      return outcome;
    } finally {
      setIsBusy(false);
    }
  };
  const restore = async (gone: readonly string[]): Promise<void> => {
    onBack((await act(() => restoreRuns(gone), "restored")).done);
  };
  const trash = async (): Promise<void> => {
    setIsBusy(true);
    const { done, failed } = await trashRuns(ids);
    setIsBusy(false);
    report({ done: [], failed }, "put into the trash");
    onGone(done);
    if (done.length === 0) return;
    tell.done(`${count(done.length, "run")} put into the trash.`, {
      label: "Undo",
      onClick: () => void restore(done),
    });
  };

  return (
    <div className={classes.chosen} role="toolbar" aria-label="Chosen runs">
      <span className={classes.count}>{count(ids.length, "run")} chosen</span>
      {unseen.length > 0 && (
        <span className={classes.unseen}>
          {wholeNumber(unseen.length)} not in this list{" "}
          <Button
            variant="subtle"
            size="compact-xs"
            onClick={() => {
              onLeave(unseen);
            }}
          >
            Leave out
          </Button>
        </span>
      )}
      {isTrash ? (
        <Button
          loading={isBusy}
          onClick={() => {
            void act(() => restoreRuns(ids), "restored").then(({ done }) => {
              onGone(done);
            });
          }}
        >
          Restore
        </Button>
      ) : (
        <>
          <Button
            disabled={!isComparable}
            title={
              isComparable ? undefined : `Choose ${COMPARED_MIN} to ${COMPARED_MAX} runs to compare`
            }
            onClick={() => {
              props.onCompare(ids);
            }}
          >
            Compare
          </Button>
          <TagButton
            project={project}
            isBusy={isBusy}
            onTag={async (key, value) => {
              await act(() => tagRuns(ids, key, value), `tagged ${key}`);
            }}
          />
          <MoveButton
            project={project}
            isBusy={isBusy}
            onMove={async (name) => {
              const to = name === "" ? null : (await namedExperiment(project, name)).id;
              await act(
                () => moveRuns(ids, to),
                name === "" ? "taken out of their experiment" : `moved to ${name}`,
              );
            }}
          />
          <Button
            variant="default"
            loading={isBusy}
            onClick={() => {
              if (unseen.length > 0) setIsAsking(true);
              else void trash();
            }}
          >
            Put into the trash
          </Button>
        </>
      )}
      <Button
        variant="subtle"
        onClick={() => {
          onLeave(ids);
        }}
      >
        Clear
      </Button>
      <Confirm
        question={
          isAsking
            ? {
                title: `Put ${count(ids.length, "run")} into the trash?`,
                text: `${wholeNumber(unseen.length)} of them ${unseen.length === 1 ? "is" : "are"} not in the list that you see.`,
                verb: "Put into the trash",
                work: trash,
              }
            : null
        }
        onClose={() => {
          setIsAsking(false);
        }}
      />
    </div>
  );
}

function report({ done, failed }: Outcome, text: string): void {
  if (done.length > 0) tell.done(`${count(done.length, "run")} ${text}.`);
  const first = failed[0];
  if (first === undefined) return;
  const others = failed.length > 1 ? ` (and ${failed.length - 1} more)` : "";
  tell.failure(
    `${count(failed.length, "run")} not ${text}`,
    new Error(`${first.error.message}${others}`),
  );
}

interface FormProps {
  label: string;
  isBusy: boolean;
  canSend: boolean;
  send: string;
  onSend: () => Promise<void>;
  children: ReactElement;
}

function FormButton(props: FormProps): ReactElement {
  const [isOpen, setIsOpen] = useState(false);
  const [error, setError] = useState<string | null>(null);
  return (
    <Popover opened={isOpen} onChange={setIsOpen} position="bottom-start" trapFocus shadow="md">
      <Popover.Target>
        <Button
          variant="default"
          loading={props.isBusy}
          onClick={() => {
            setIsOpen(!isOpen);
          }}
        >
          {props.label}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <form
          className={classes.form}
          onSubmit={(event) => {
            event.preventDefault();
            setError(null);
            props.onSend().then(
              () => {
                setIsOpen(false);
              },
              (failure: unknown) => {
                setError(failure instanceof Error ? failure.message : String(failure));
              },
            );
          }}
        >
          {props.children}
          {error !== null && (
            <p role="alert" className={classes.wrong}>
              {error}
            </p>
          )}
          <Button type="submit" loading={props.isBusy} disabled={!props.canSend}>
            {props.send}
          </Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}

function TagButton(props: {
  project: string;
  isBusy: boolean;
  onTag: (key: string, value: string) => Promise<void>;
}): ReactElement {
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const fields = useQuery(fieldsQuery(props.project, ""));
  return (
    <FormButton
      label="Tag …"
      isBusy={props.isBusy}
      canSend={key.trim() !== ""}
      send="Set the tag"
      onSend={() => props.onTag(key.trim(), value)}
    >
      <>
        <Autocomplete
          data-autofocus
          label="Tag"
          placeholder="stage"
          size="xs"
          maxLength={250}
          data={fields.data?.tags ?? []}
          limit={12}
          value={key}
          onChange={setKey}
          comboboxProps={{ withinPortal: false }}
        />
        <TextInput
          label="Value"
          placeholder="candidate"
          maxLength={5_000}
          value={value}
          onChange={({ currentTarget }) => {
            setValue(currentTarget.value);
          }}
        />
      </>
    </FormButton>
  );
}

function MoveButton(props: {
  project: string;
  isBusy: boolean;
  onMove: (name: string) => Promise<void>;
}): ReactElement {
  const [name, setName] = useState("");
  const experiments = useQuery({
    queryKey: ["experiments", props.project, "open"],
    queryFn: () => openExperiments(props.project),
  });
  const names = experiments.data?.map((experiment) => experiment.name) ?? [];
  const isNew = name.trim() !== "" && !names.includes(name.trim());
  return (
    <FormButton
      label="Move …"
      isBusy={props.isBusy}
      canSend
      send={
        name.trim() === "" ? "Take out of their experiment" : isNew ? "Make it and move" : "Move"
      }
      onSend={() => props.onMove(name.trim())}
    >
      <Autocomplete
        data-autofocus
        label="Experiment"
        description="Empty: none"
        size="xs"
        maxLength={200}
        data={names}
        limit={12}
        value={name}
        onChange={setName}
        comboboxProps={{ withinPortal: false }}
      />
    </FormButton>
  );
}
