/** The button beside what can be changed where it stands. */
import { ActionIcon, Tooltip } from "@mantine/core";
import type { ReactElement } from "react";

export function Pencil(props: { label: string; onClick: () => void }): ReactElement {
  return (
    <Tooltip label={props.label}>
      <ActionIcon size="sm" onClick={props.onClick} aria-label={props.label}>
        <svg
          width="14"
          height="14"
          viewBox="0 0 16 16"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.3"
          aria-hidden
        >
          <path d="M10.5 2.5l3 3-8 8-3.5.5.5-3.5z" />
        </svg>
      </ActionIcon>
    </Tooltip>
  );
}
