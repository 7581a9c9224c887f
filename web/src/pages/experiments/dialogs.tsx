/** What asks before an experiment is made, renamed or deleted. */
import { Button, Group, Modal, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { deleteExperiment, makeExperiment } from "@/pages/experiments/data";
import classes from "@/pages/experiments/experiments.module.css";
import { fateOfRuns } from "@/pages/experiments/words";
import type { Experiment } from "@/pages/experiments/order";
import { viewsQuery } from "@/state/views";
import { DialogForm, FormDialog } from "@/widgets/dialog_form";
import { Failure } from "@/widgets/failure";

const NAME_MAX = 200;
const DESCRIPTION_MAX = 20_000;

interface MakeProps {
  project: string;
  onClose: () => void;
  onMade: (experiment: Experiment) => void;
}

export function MakeDialog(props: MakeProps & { isOpen: boolean }): ReactElement {
  return (
    <FormDialog title="New experiment" isOpen={props.isOpen} onClose={props.onClose}>
      <MakeForm {...props} />
    </FormDialog>
  );
}

function MakeForm(props: MakeProps): ReactElement {
  const { project, onClose, onMade } = props;
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  return (
    <DialogForm
      verb="Make"
      failure="It was not made"
      isReady={name.trim() !== ""}
      work={() => makeExperiment(project, { name: name.trim(), description })}
      onDone={onMade}
      onCancel={onClose}
    >
      <TextInput
        label="Name"
        description={`Unique in the project ${project}`}
        required
        maxLength={NAME_MAX}
        data-autofocus
        value={name}
        onChange={(event) => {
          setName(event.currentTarget.value);
        }}
      />
      <Textarea
        label="Description"
        description="Markdown: what is tried, and why"
        autosize
        minRows={3}
        maxRows={12}
        maxLength={DESCRIPTION_MAX}
        value={description}
        onChange={(event) => {
          setDescription(event.currentTarget.value);
        }}
      />
    </DialogForm>
  );
}

export function DeleteDialog(props: {
  /** Null: closed. */
  experiment: Experiment | null;
  onClose: () => void;
  onDeleted: () => void;
}): ReactElement {
  const { experiment, onClose, onDeleted } = props;
  return (
    <Modal opened={experiment !== null} onClose={onClose} title="Delete the experiment?">
      {experiment !== null && <DeleteForm {...{ experiment, onClose, onDeleted }} />}
    </Modal>
  );
}

function DeleteForm(props: {
  experiment: Experiment;
  onClose: () => void;
  onDeleted: () => void;
}): ReactElement {
  const { experiment, onClose, onDeleted } = props;
  const views = useQuery(viewsQuery({ project: experiment.project, experiment: experiment.id }));
  const remove = useMutation({
    mutationFn: () => deleteExperiment(experiment),
    onSuccess: onDeleted,
  });
  return (
    <>
      <p className={classes.question}>
        <strong className={classes.long}>{experiment.name}</strong> is deleted for good, with its
        description. {fateOfRuns(experiment.runs, views.data?.length)}
      </p>
      {remove.error !== null && <Failure error={remove.error} title="It was not deleted" />}
      <Group mt={16} gap={8}>
        <Button
          color="red"
          loading={remove.isPending}
          onClick={() => {
            remove.mutate();
          }}
        >
          Delete
        </Button>
        <Button variant="default" data-autofocus onClick={onClose}>
          Cancel
        </Button>
      </Group>
    </>
  );
}
