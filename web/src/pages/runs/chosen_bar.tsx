/** What can be done with the runs that are chosen. */
import { Button } from "@mantine/core";
import { type ReactElement, useState } from "react";
import { counted } from "@/base/counts";
import { wholeNumber } from "@/base/numbers";
import { RUNS_MAX, RUNS_MIN } from "@/pages/compare/address";
import {
  moveRuns,
  namedExperiment,
  type Outcome,
  restoreRuns,
  tagRuns,
  trashRuns,
} from "@/pages/runs/acting";
import { MoveButton, TagButton } from "@/pages/runs/chosen_forms";
import classes from "@/pages/runs/view.module.css";
import { Confirm } from "@/widgets/confirm";
import { tell } from "@/widgets/notice";

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
  const isComparable = ids.length >= RUNS_MIN && ids.length <= RUNS_MAX;
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
    tell.done(`${counted(done.length, "run")} put into the trash.`, {
      label: "Undo",
      onClick: () => void restore(done),
    });
  };

  return (
    <div className={classes.chosen} role="toolbar" aria-label="Chosen runs">
      <span className={classes.count}>{counted(ids.length, "run")} chosen</span>
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
            title={isComparable ? undefined : `Choose ${RUNS_MIN} to ${RUNS_MAX} runs to compare`}
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
                title: `Put ${counted(ids.length, "run")} into the trash?`,
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
  if (done.length > 0) tell.done(`${counted(done.length, "run")} ${text}.`);
  const first = failed[0];
  if (first === undefined) return;
  const others = failed.length > 1 ? ` (and ${failed.length - 1} more)` : "";
  tell.failure(
    `${counted(failed.length, "run")} not ${text}`,
    new Error(`${first.error.message}${others}`),
  );
}
