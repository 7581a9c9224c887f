/** Runs of an address that cannot be compared as they stand, and what to do about each. */
import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { api } from "@/api/client";
import { RUNS_MAX } from "@/pages/compare/address";
import classes from "@/pages/compare/compare.module.css";
import { whyMissing } from "@/pages/compare/data";
import { queries } from "@/state/queries";
import { runKey, type Run } from "@/state/run";
import { Empty } from "@/widgets/empty";
import { tell } from "@/widgets/notice";

/** Letters of an id that tell apart runs of one name. */
const ENDING = 8;

export function Missing(props: {
  id: string;
  /** A run that is in the trash. */
  run?: Run;
  /** Why another cannot be read. */
  error?: Error;
  onRemove: (id: string) => void;
  onRetry?: () => void;
}): ReactElement {
  const { id, run, error, onRemove, onRetry } = props;
  const why =
    run === undefined
      ? (whyMissing(error) ?? error?.message ?? "It cannot be read.")
      : "It is in the trash, and is deleted for good after a while.";
  const name = run?.name ?? "";
  const mayRetry = onRetry !== undefined && whyMissing(error) === null;
  return (
    <div className={classes.problem} role="status">
      {name !== "" && <strong>{name}</strong>}
      <code title={id}>{name === "" ? id : `…${id.slice(-ENDING)}`}</code>
      <span>{why}</span>
      <span className={classes.buttons}>
        {run !== undefined && <Restore run={run} />}
        {mayRetry && (
          <Button variant="default" size="compact-xs" onClick={onRetry}>
            Try again
          </Button>
        )}
        <Button
          variant="default"
          size="compact-xs"
          onClick={() => {
            onRemove(id);
          }}
        >
          Take it out
        </Button>
      </span>
    </div>
  );
}

function Restore(props: { run: Run }): ReactElement {
  const { run } = props;
  const restore = useMutation({
    mutationFn: async () => {
      await api.POST("/v1/runs/{run}/restore", { params: { path: { run: run.id } } });
      await queries.invalidateQueries({ queryKey: runKey(run.id) });
    },
    onError: async (error) => {
      tell.failure("It was not restored", error);
      // It may be gone since it was read.
      await queries.invalidateQueries({ queryKey: runKey(run.id) });
    },
  });
  return (
    <Button
      variant="default"
      size="compact-xs"
      loading={restore.isPending}
      onClick={() => {
        restore.mutate();
      }}
    >
      Restore
    </Button>
  );
}

export function TooMany(props: {
  ids: readonly string[];
  onChoose: (ids: readonly string[]) => void;
}): ReactElement {
  const { ids, onChoose } = props;
  return (
    <>
      <Empty title={`${String(ids.length)} runs are too many for a comparison`}>
        It has {RUNS_MAX} at most: more columns nobody reads. Take some out, or group them by a
        param in the table of runs.
      </Empty>
      <div className={classes.padded}>
        <Button
          variant="default"
          mb={12}
          onClick={() => {
            onChoose(ids.slice(0, RUNS_MAX));
          }}
        >
          {`Compare the first ${String(RUNS_MAX)}`}
        </Button>
      </div>
      {ids.slice(0, 100).map((id) => (
        <div key={id} className={classes.problem}>
          <code>{id}</code>
          <Button
            variant="default"
            size="compact-xs"
            onClick={() => {
              onChoose(ids.filter((one) => one !== id));
            }}
          >
            Take it out
          </Button>
        </div>
      ))}
    </>
  );
}
