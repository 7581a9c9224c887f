/** What can be done with one experiment. */
import { ActionIcon, Menu } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { archiveExperiment } from "@/pages/experiments/data";
import type { Experiment } from "@/pages/experiments/order";
import { tell } from "@/widgets/notice";

export function ExperimentActions(props: {
  experiment: Experiment;
  onRename?: () => void;
  onDelete: () => void;
}): ReactElement {
  const { experiment, onRename, onDelete } = props;
  const isArchived = experiment.archived !== null;
  const archive = useMutation({
    mutationFn: () => archiveExperiment(experiment, !isArchived),
    onSuccess: () => {
      tell.done(
        isArchived
          ? `“${experiment.name}” takes new runs again.`
          : `“${experiment.name}” is archived: it takes no new runs, and can be read as before.`,
      );
    },
    onError: (error) => {
      tell.failure(isArchived ? "It stays in the archive" : "It was not archived", error);
    },
  });
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon aria-label={`Actions of ${experiment.name}`}>⋯</ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {onRename !== undefined && <Menu.Item onClick={onRename}>Rename …</Menu.Item>}
        <Menu.Item
          onClick={() => {
            archive.mutate();
          }}
        >
          {isArchived ? "Take out of the archive" : "Archive"}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item color="red" onClick={onDelete}>
          Delete …
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
