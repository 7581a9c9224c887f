/** What can be done with one chart: fill the window, read its numbers, save it. */
import { ActionIcon, Menu } from "@mantine/core";
import type { ReactElement } from "react";
import { symbols } from "@/charts/symbols";

export function ChartMenu(props: {
  onFull: (() => void) | null;
  onTable: () => void;
  onPicture: (form: "png" | "svg") => void;
  onCsv: () => void;
}): ReactElement {
  const { onFull, onTable, onPicture, onCsv } = props;
  return (
    <>
      {onFull !== null && (
        <ActionIcon size="sm" aria-label="Full screen" title="Full screen" onClick={onFull}>
          {symbols.full}
        </ActionIcon>
      )}
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon size="sm" aria-label="More of this chart">
            {symbols.more}
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={onTable}>Show the numbers</Menu.Item>
          <Menu.Divider />
          <Menu.Item
            onClick={() => {
              onPicture("png");
            }}
          >
            Save as PNG
          </Menu.Item>
          <Menu.Item
            onClick={() => {
              onPicture("svg");
            }}
          >
            Save as SVG
          </Menu.Item>
          <Menu.Item onClick={onCsv}>Save all points as CSV</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}
