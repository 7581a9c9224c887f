/** What each of the compared runs is, and how it stands. */
import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import { duration } from "@/base/times";
import { CompareTable, useColumns } from "@/pages/compare/columns";
import classes from "@/pages/compare/compare.module.css";
import type { Run } from "@/state/run";
import { Moment } from "@/widgets/moment";
import { StatusMark } from "@/widgets/status";

export function RunsTable(props: {
  facts: ReadonlyMap<string, Run>;
  /** Names by id. */
  experiments: ReadonlyMap<string, string>;
}): ReactElement {
  const { facts, experiments } = props;
  const columns = useColumns();
  const rows: [string, (run: Run) => ReactNode][] = [
    ["Status", (run) => <StatusMark status={run.status} />],
    ["Project", (run) => run.project],
    [
      "Experiment",
      (run) =>
        run.experiment === null ? (
          <span className={classes.missing}>none</span>
        ) : (
          <Link
            to="/experiments/$experiment"
            params={{ experiment: run.experiment }}
            search={{ project: run.project }}
          >
            {experiments.get(run.experiment) ?? "…"}
          </Link>
        ),
    ],
    ["User", (run) => run.user],
    ["Created", (run) => <Moment at={run.created} isExact />],
    ["Duration", (run) => duration(run.duration_seconds)],
  ];
  return (
    <CompareTable label="Runs" corner="What">
      {rows.map(([name, cell]) => (
        <tr key={name}>
          <th scope="row" className={classes.key}>
            {name}
          </th>
          {columns.map(({ run }) => {
            const known = facts.get(run.id);
            return (
              <td key={run.id}>
                <span className={classes.value}>{known === undefined ? "…" : cell(known)}</span>
              </td>
            );
          })}
        </tr>
      ))}
    </CompareTable>
  );
}
