/** A table of numbers, a row for each project; the last column is what the others come to. */
import type { ReactElement } from "react";
import { Rows, rows } from "@/widgets/rows";

interface Column<Row> {
  head: string;
  text: (row: Row) => string;
}

export function ProjectTable<Row extends { project: string }>(props: {
  label: string;
  found: readonly Row[];
  columns: readonly Column<Row>[];
  sum: Column<Row>;
}): ReactElement {
  const { label, found, columns, sum } = props;
  return (
    <Rows label={label}>
      <thead>
        <tr>
          <th scope="col">Project</th>
          {[...columns, sum].map(({ head }) => (
            <th key={head} scope="col" className={rows.number}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {found.map((row) => (
          <tr key={row.project}>
            <th scope="row" className={rows.wide} title={row.project}>
              {row.project}
            </th>
            {columns.map(({ head, text }) => (
              <td key={head} className={rows.number}>
                {text(row)}
              </td>
            ))}
            <td className={rows.number}>
              <strong>{sum.text(row)}</strong>
            </td>
          </tr>
        ))}
      </tbody>
    </Rows>
  );
}
