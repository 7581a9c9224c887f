/** What asks before something is done that cannot be taken back. */
import { Button, Group, Modal } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";
import classes from "@/widgets/confirm.module.css";
import { Failure } from "@/widgets/failure";

interface Question {
  title: string;
  /** What becomes of it. */
  text: ReactNode;
  /** What the button says. */
  verb: string;
  /** What the button says that leaves all as it is. */
  keep?: string;
  work: () => Promise<void>;
}

export type { Question };

export function Confirm(props: { question: Question | null; onClose: () => void }): ReactElement {
  const { question, onClose } = props;
  return (
    <Modal opened={question !== null} onClose={onClose} title={question?.title}>
      {question !== null && <Asking {...{ question, onClose }} />}
    </Modal>
  );
}

function Asking(props: { question: Question; onClose: () => void }): ReactElement {
  const { question, onClose } = props;
  const work = useMutation({ mutationFn: question.work, onSuccess: onClose });
  return (
    <>
      <p className={classes.text}>{question.text}</p>
      {work.error !== null && <Failure error={work.error} title="It was not done" />}
      <Group gap={8}>
        <Button
          color="red"
          loading={work.isPending}
          onClick={() => {
            work.mutate();
          }}
        >
          {question.verb}
        </Button>
        <Button variant="default" data-autofocus onClick={onClose}>
          {question.keep ?? "Cancel"}
        </Button>
      </Group>
    </>
  );
}
