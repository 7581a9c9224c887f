/** Short messages at the corner of the page: something was done, or was not. */
import { Button, Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";

/** A way back stays in sight long enough to be taken. */
const UNDO_MS = 12_000;

export const tell = {
  /** Says that something was done; `undo` takes it back. */
  done(text: string, undo?: { label: string; onClick: () => void }): void {
    const id = notifications.show({
      autoClose: undo === undefined ? 4_000 : UNDO_MS,
      message:
        undo === undefined ? (
          text
        ) : (
          <Group gap={12} wrap="nowrap" justify="space-between">
            <span>{text}</span>
            <Button
              variant="default"
              onClick={() => {
                notifications.hide(id);
                undo.onClick();
              }}
            >
              {undo.label}
            </Button>
          </Group>
        ),
    });
  },
  /** Says what was not done, and why. */
  failure(title: string, error: Error): void {
    notifications.show({ color: "red", title, message: error.message, autoClose: false });
  },
};
