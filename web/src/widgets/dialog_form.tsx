/** A form in a dialog: its fields, what it does with them, and in its place why it did not. */
import { Button, Group, Modal } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";
import classes from "@/widgets/dialog_form.module.css";
import { Failure } from "@/widgets/failure";

/** A dialog whose form begins anew each time that it opens. */
export function FormDialog(props: {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
}): ReactElement {
  return (
    <Modal opened={props.isOpen} onClose={props.onClose} title={props.title}>
      {props.children}
    </Modal>
  );
}

export function DialogForm<T>(props: {
  /** What the button says. */
  verb: string;
  /** What is said where it does not work. */
  failure: string;
  /** Whether what is in the fields can be sent. */
  isReady: boolean;
  work: () => Promise<T>;
  onDone: (made: T) => void;
  onCancel: () => void;
  /** The fields; the first one has `data-autofocus`. */
  children: ReactNode;
}): ReactElement {
  const { verb, failure, isReady, work, onDone, onCancel, children } = props;
  const sending = useMutation({ mutationFn: work, onSuccess: onDone });
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault();
        // The key Enter asks no button whether it is enabled.
        if (isReady && !sending.isPending) sending.mutate();
      }}
    >
      {children}
      {sending.error !== null && <Failure error={sending.error} title={failure} />}
      <Group gap={8}>
        <Button type="submit" loading={sending.isPending} disabled={!isReady}>
          {verb}
        </Button>
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
      </Group>
    </form>
  );
}
