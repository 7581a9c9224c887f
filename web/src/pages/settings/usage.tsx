/** Usage: what the projects take. */
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { wholeNumber } from "@/base/numbers";
import { sizeText } from "@/base/sizes";
import { usageQuery, type UsageRow } from "@/pages/settings/data";
import { Part } from "@/pages/settings/part";
import { Moment } from "@/widgets/moment";
import { Rows, rows } from "@/widgets/rows";

const KINDS = ["points", "series", "log_lines", "spans"] as const;
const HEADS = { points: "Points", series: "Series", log_lines: "Log lines", spans: "Spans" };

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
        <Rows label="Usage">
          <thead>
            <tr>
              <th scope="col">Project</th>
              <th scope="col" className={rows.number}>
                Runs
              </th>
              {KINDS.map((kind) => (
                <th key={kind} scope="col" className={rows.number}>
                  {HEADS[kind]}
                </th>
              ))}
              <th scope="col" className={rows.number}>
                Media
              </th>
              <th scope="col" className={rows.number}>
                Of media
              </th>
              <th scope="col" className={rows.number}>
                In all
              </th>
            </tr>
          </thead>
          <tbody>
            {projects.map((row) => (
              <tr key={row.project}>
                <th scope="row" className={rows.wide} title={row.project}>
                  {row.project}
                </th>
                <td className={rows.number}>{wholeNumber(row.runs)}</td>
                {KINDS.map((kind) => (
                  <td key={kind} className={rows.number}>
                    {wholeNumber(row.rows[kind] ?? 0)}
                  </td>
                ))}
                <td className={rows.number}>{wholeNumber(row.media_items)}</td>
                <td className={rows.number}>{sizeText(row.media_bytes)}</td>
                <td className={rows.number}>
                  <strong>{sizeText(bytesOf(row))}</strong>
                </td>
              </tr>
            ))}
          </tbody>
        </Rows>
      )}
    </Part>
  );
}
