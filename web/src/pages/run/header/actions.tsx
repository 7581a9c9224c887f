/** The menu of what can be done to the run: cancel, retry, the trash and back, export. */
import { Button, Menu } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { useRunAction } from "@/pages/run/header/action";
import classes from "@/pages/run/header/header.module.css";
import { isLive, type Run } from "@/state/run";
import { Confirm } from "@/widgets/confirm";
import { tell } from "@/widgets/notice";

const route = getRouteApi("/runs/$run");
const FORMATS = [
  { format: "jsonl", label: "Everything (JSON lines)" },
  { format: "csv", label: "Points (CSV)" },
  { format: "parquet", label: "Points (Parquet)" },
] as const;

export function RunActions(props: { run: Run; canWrite: boolean }): ReactElement {
  const { run, canWrite } = props;
  const navigate = route.useNavigate();
  const cancel = useRunAction(run.id, "cancel");
  const retry = useRunAction(run.id, "retry");
  const trash = useRunAction(run.id, "trash");
  const restore = useRunAction(run.id, "restore");
  const [isAsking, setIsAsking] = useState(false);
  const failed = (what: string) => (error: Error) => {
    tell.failure(what, error);
  };
  return (
    <div className={classes.actions}>
      {canWrite && isLive(run) && run.trashed == null && (
        <Button
          variant="default"
          onClick={() => {
            setIsAsking(true);
          }}
        >
          Cancel run …
        </Button>
      )}
      <Confirm
        question={
          isAsking
            ? {
                title: "Cancel the run?",
                text: "The program that logs it is told to stop, and the run ends as cancelled. What it has logged stays.",
                verb: "Cancel the run",
                keep: "Let it go on",
                work: async () => {
                  await cancel.mutateAsync();
                },
              }
            : null
        }
        onClose={() => {
          setIsAsking(false);
        }}
      />
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" aria-label="More to do with the run">
            More
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>Export</Menu.Label>
          {FORMATS.map(({ format, label }) => (
            <Menu.Item
              key={format}
              component="a"
              href={`/v1/runs/${encodeURIComponent(run.id)}/export?format=${format}`}
              download
            >
              {label}
            </Menu.Item>
          ))}
          {canWrite && <Menu.Divider />}
          {canWrite && !isLive(run) && run.trashed == null && (
            <Menu.Item
              onClick={() => {
                retry.mutate(undefined, {
                  onError: failed("The run was not tried again"),
                  onSuccess: (made) => {
                    if (made === null) return;
                    void navigate({
                      to: "/runs/$run",
                      params: { run: made.id },
                      search: (previous) => ({ project: previous.project }),
                    });
                  },
                });
              }}
            >
              Retry
            </Menu.Item>
          )}
          {canWrite && run.trashed == null && (
            <Menu.Item
              onClick={() => {
                trash.mutate(undefined, {
                  onError: failed("The run was not put into the trash"),
                  onSuccess: () => {
                    tell.done("The run was put into the trash: it can be restored for a while.", {
                      label: "Undo",
                      onClick: () => {
                        restore.mutate(undefined, { onError: failed("It was not restored") });
                      },
                    });
                  },
                });
              }}
            >
              Put into the trash
            </Menu.Item>
          )}
          {canWrite && run.trashed != null && (
            <Menu.Item
              onClick={() => {
                restore.mutate(undefined, { onError: failed("The run was not restored") });
              }}
            >
              Restore
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}
