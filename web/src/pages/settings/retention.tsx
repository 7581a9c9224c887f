/** Retention: how long what is kept, what a pass would delete now, and what is kept whatever its age. */
import { Code } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { wholeNumber } from "@/base/numbers";
import { sizeText } from "@/base/sizes";
import { retentionQuery, type Retention } from "@/pages/settings/data";
import { daysText } from "@/pages/settings/days";
import { Part } from "@/pages/settings/part";
import { ProjectTable } from "@/pages/settings/project_table";
import classes from "@/pages/settings/settings.module.css";
import { Moment } from "@/widgets/moment";
import { Rows, rows } from "@/widgets/rows";

export function RetentionPart(): ReactElement {
  const found = useQuery(retentionQuery);
  return (
    <Part
      found={found}
      about="Nothing is deleted for its age unless the operator sets a number of days. Summaries, params, tags, names and notes stay in any case, and every page says of what it shows how much is gone."
    >
      {(retention) => (
        <div className={classes.parts}>
          <Days retention={retention} />
          <DryRun retention={retention} />
          <Rules retention={retention} />
        </div>
      )}
    </Part>
  );
}

function Days(props: { retention: Retention }): ReactElement {
  const { trash_days: trash, tracking_days: tracking, media_days: media } = props.retention;
  const settings = [
    ["Runs in the trash, then gone for good", trash, "MAPI_TRASH_DAYS"],
    [
      "Points with a step, log lines and spans of a run that ended",
      tracking,
      "MAPI_TRACKING_RETENTION_DAYS",
    ],
    ["Images and tables of a run that ended", media, "MAPI_MEDIA_RETENTION_DAYS"],
  ] as const;
  return (
    <section>
      <h2 className={classes.title}>How long what is kept</h2>
      <Rows label="How long what is kept">
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col" className={rows.number}>
              Kept
            </th>
            <th scope="col" className={rows.roomy}>
              Set by the environment of mapi serve
            </th>
          </tr>
        </thead>
        <tbody>
          {settings.map(([what, days, variable]) => (
            <tr key={variable}>
              <th scope="row" className={classes.told}>
                {what}
              </th>
              <td className={rows.number}>{daysText(days)}</td>
              <td className={rows.roomy}>
                <Code>{variable}</Code>
              </td>
            </tr>
          ))}
        </tbody>
      </Rows>
    </section>
  );
}

const COUNTS = [
  ["purged_runs", "Runs out of the trash"],
  ["pruned_runs", "Old runs cut"],
  ["kept_runs", "Kept by a rule"],
  ["points", "Points"],
  ["log_lines", "Log lines"],
  ["spans", "Spans"],
  ["media_items", "Media items"],
] as const;

type ProjectRow = Retention["projects"][number];

function DryRun(props: { retention: Retention }): ReactElement {
  const { projects, measured } = props.retention;
  return (
    <section>
      <h2 className={classes.title}>What a pass would delete now</h2>
      <p className={classes.said}>
        A dry run, counted <Moment at={measured} />: nothing was deleted by it. A pass runs by
        itself every hour.
      </p>
      {projects.length === 0 ? (
        <p className={classes.said}>Nothing: no run is old enough.</p>
      ) : (
        <ProjectTable
          label="What a pass would delete now"
          found={projects}
          columns={COUNTS.map(([count, head]) => ({
            head,
            text: (row: ProjectRow) => wholeNumber(row[count]),
          }))}
          sum={{ head: "Freed", text: (row) => sizeText(row.size_bytes) }}
        />
      )}
    </section>
  );
}

function Rules(props: { retention: Retention }): ReactElement {
  const { rules } = props.retention;
  return (
    <section>
      <h2 className={classes.title}>What is kept whatever its age</h2>
      {rules.length === 0 ? (
        <p className={classes.said}>
          No rule keeps any run. The operator sets one on the server&apos;s machine:{" "}
          <Code>mapi admin retention set --project NAME --best 10 --by metrics.loss.min</Code>
        </p>
      ) : (
        <Rows label="What is kept whatever its age">
          <thead>
            <tr>
              <th scope="col">Project</th>
              <th scope="col" className={rows.number}>
                Rule
              </th>
              <th scope="col">Runs that match</th>
              <th scope="col">Of them</th>
              <th scope="col" className={rows.number}>
                Keeps now
              </th>
            </tr>
          </thead>
          <tbody>
            {rules.map((rule) => (
              <tr key={`${rule.project} ${rule.number}`}>
                <th scope="row" className={rows.wide} title={rule.project}>
                  {rule.project}
                </th>
                <td className={rows.number}>{rule.number}</td>
                <td className={classes.fields} title={rule.filter}>
                  {rule.filter === "" ? "all" : rule.filter}
                </td>
                <td className={classes.fields} title={rule.sort}>
                  {rule.best === null
                    ? "all"
                    : `the best ${wholeNumber(rule.best)} by ${rule.sort}`}
                </td>
                <td className={rows.number}>{wholeNumber(rule.kept_runs)}</td>
              </tr>
            ))}
          </tbody>
        </Rows>
      )}
    </section>
  );
}
