/** Usage: what the projects take. */
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { wholeNumber } from "@/base/numbers";
import { sizeText } from "@/base/sizes";
import { usageQuery, type UsageRow } from "@/pages/settings/data";
import { Part } from "@/pages/settings/part";
import { ProjectTable } from "@/pages/settings/project_table";
import { Moment } from "@/widgets/moment";

const KINDS = [
  ["points", "Points"],
  ["series", "Series"],
  ["log_lines", "Log lines"],
  ["spans", "Spans"],
] as const;

const COLUMNS = [
  { head: "Runs", text: ({ runs }: UsageRow) => wholeNumber(runs) },
  ...KINDS.map(([kind, head]) => ({
    head,
    text: ({ rows }: UsageRow) => wholeNumber(rows[kind] ?? 0),
  })),
  { head: "Media items", text: (row: UsageRow) => wholeNumber(row.media_items) },
  { head: "Media size", text: (row: UsageRow) => sizeText(row.media_bytes) },
];

function bytesOf(row: UsageRow): number {
  return Object.values(row.size_bytes).reduce((one, other) => one + other, 0);
}

export function Usage(): ReactElement {
  const found = useQuery(usageQuery);
  return (
    <Part
      found={found}
      about={
        <>
          What the projects that you see take, runs in the trash included; the size of points is
          about.
          {found.data !== undefined && (
            <>
              {" "}
              Counted <Moment at={found.data.measured} />.
            </>
          )}
        </>
      }
    >
      {({ projects }) => (
        <ProjectTable
          label="Usage"
          found={projects}
          columns={COLUMNS}
          sum={{ head: "Size in all", text: (row) => sizeText(bytesOf(row)) }}
        />
      )}
    </Part>
  );
}
