/** A button that copies a text, and says that it did. */
import { ActionIcon, CopyButton, Tooltip } from "@mantine/core";
import type { ReactElement } from "react";

export function Copy(props: { text: string; label: string }): ReactElement {
  return (
    <CopyButton value={props.text} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? "Copied" : props.label}>
          <ActionIcon size="sm" onClick={copy} aria-label={props.label}>
            {copied ? <CheckMark /> : <TwoSheets />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

function TwoSheets(): ReactElement {
  return (
    <svg width="14" height="14" viewBox="0 0 16 16" fill="none" stroke="currentColor" aria-hidden>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" strokeWidth="1.3" />
      <path d="M10.5 5.5v-2a1 1 0 0 0-1-1h-6a1 1 0 0 0-1 1v6a1 1 0 0 0 1 1h2" strokeWidth="1.3" />
    </svg>
  );
}

function CheckMark(): ReactElement {
  return (
    <svg width="14" height="14" viewBox="0 0 16 16" fill="none" stroke="currentColor" aria-hidden>
      <path d="M3 8.5l3.5 3.5L13 4.5" strokeWidth="1.6" />
    </svg>
  );
}
