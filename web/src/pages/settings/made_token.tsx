/** A token that was just made: the only time its secret is shown. */
import { Button, CopyButton, Group, Modal } from "@mantine/core";
import type { ReactElement } from "react";
import type { NewToken } from "@/pages/settings/data";
import classes from "@/pages/settings/settings.module.css";

export function MadeToken(props: { token: NewToken | null; onClose: () => void }): ReactElement {
  const { token, onClose } = props;
  return (
    <Modal
      opened={token !== null}
      onClose={onClose}
      title={`The token ${token?.name ?? ""}`}
      // A slip of the pointer must not cost the secret.
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      {token !== null && (
        <>
          <p className={classes.text}>
            Copy it now: it is shown this once, and nobody can read it again.
          </p>
          <code className={classes.secret}>{token.token}</code>
          <Group gap={8} mt={16}>
            <CopyButton value={token.token} timeout={2_000}>
              {({ copied, copy }) => (
                <Button onClick={copy} data-autofocus>
                  {copied ? "Copied" : "Copy"}
                </Button>
              )}
            </CopyButton>
            <Button variant="default" onClick={onClose}>
              I have it
            </Button>
          </Group>
        </>
      )}
    </Modal>
  );
}
