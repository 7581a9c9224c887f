/** Runs summed up in groups of equal values: how many, mean and deviation, smallest and largest. */
import { Skeleton } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import { type ReactElement, useRef } from "react";
import { shortNumber, wholeNumber } from "@/base/numbers";
import { type ColumnLook, lookOf } from "@/pages/runs/columns";
import {
  conditionOf,
  groupsQuery,
  type GroupValue,
  type RunGroup,
  SUMMED_MAX,
  summable,
} from "@/pages/runs/groups";
import classes from "@/pages/runs/groups_table.module.css";
import { useRefresh } from "@/state/refresh";
import { Empty } from "@/widgets/empty";
import { Failure } from "@/widgets/failure";
import { MoreRight, shadedFrame } from "@/widgets/more_right";

interface GroupsProps {
  project: string;
  filters: readonly string[];
  by: string;
  looks: readonly ColumnLook[];
  /** Shows the runs of one group. */
  onGroup: (condition: string) => void;
}

export function GroupsTable(props: GroupsProps): ReactElement {
  const { project, filters, by, looks, onGroup } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const summed = summable(looks);
  const metrics = summed.slice(0, SUMMED_MAX);
  const answers = useQueries({
    queries: metrics.map((look) => groupsQuery({ project, filters, by, look })),
  });
  useRefresh(project, [["groups", project]]);
  if (metrics.length === 0) {
    return (
      <Empty title="Which metric is to be summed up?">
        Add columns of metrics: each group has their number, mean, deviation and extremes.
      </Empty>
    );
  }
  const failed = answers.find(({ error }) => error !== null);
  const first = answers.find(({ data }) => data !== undefined)?.data;
  if (first === undefined) {
    if (failed !== undefined) {
      return (
        <div className={classes.failure}>
          <Failure error={failed.error} onRetry={() => void failed.refetch()} />
        </div>
      );
    }
    return (
      <div className={classes.failure}>
        <Skeleton height={200} />
      </div>
    );
  }
  // All answers have the same groups, unless runs changed between them.
  const found = answers.map(
    ({ data }) => new Map(data?.groups.map((group) => [keyOf(group, by), group])),
  );
  return (
    <div className={`${classes.frame} ${shadedFrame}`}>
      <div
        ref={scroller}
        className={classes.scroller}
        tabIndex={0}
        role="region"
        aria-label="Groups of runs"
      >
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col" rowSpan={2} className={classes.by}>
                {lookOf(by).label}
              </th>
              <th scope="col" rowSpan={2} className={classes.number}>
                Runs
              </th>
              {metrics.map(({ text, label, detail }) => (
                <th key={text} scope="colgroup" colSpan={5} className={classes.metric} title={text}>
                  <bdi>{label}</bdi> <span className={classes.detail}>{detail}</span>
                </th>
              ))}
            </tr>
            <tr>
              {metrics.flatMap(({ text }) =>
                ["n", "mean", "std", "min", "max"].map((name) => (
                  <th key={`${text} ${name}`} scope="col" className={classes.number}>
                    {name}
                  </th>
                )),
              )}
            </tr>
          </thead>
          <tbody>
            {first.groups.map((group) => {
              const value = group.by[by] ?? null;
              const key = keyOf(group, by);
              return (
                <tr key={key}>
                  <th scope="row" className={classes.by}>
                    <button
                      type="button"
                      className={classes.open}
                      title="Show these runs"
                      onClick={() => {
                        onGroup(conditionOf(by, value));
                      }}
                    >
                      <bdi>{valueText(value)}</bdi>
                    </button>
                  </th>
                  <td className={classes.number}>{wholeNumber(group.runs.length)}</td>
                  {metrics.map(({ text }, at) => (
                    <Summary
                      key={text}
                      group={found[at]?.get(key)}
                      isFailed={hasFailed(answers[at])}
                    />
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
        <p className={classes.note}>
          {wholeNumber(first.runs_total)} runs in {wholeNumber(first.groups.length)} groups. n is
          how many have a finite value; the deviation is that of the sample.
          {summed.length > metrics.length &&
            ` The first ${SUMMED_MAX} of ${summed.length} metrics are summed up.`}
        </p>
        {failed !== undefined && (
          <div className={classes.failure}>
            <Failure error={failed.error} onRetry={() => void failed.refetch()} />
          </div>
        )}
      </div>
      <MoreRight scroller={scroller} />
    </div>
  );
}

function Summary(props: { group: RunGroup | undefined; isFailed: boolean }): ReactElement {
  const { group, isFailed } = props;
  const summary = group?.summary;
  if (summary === null || summary === undefined) {
    return (
      <td colSpan={5} className={classes.none}>
        {isFailed ? "not read" : "…"}
      </td>
    );
  }
  const { count, nonfinite_count: others = 0 } = summary;
  return (
    <>
      <td
        className={`${classes.number} ${classes.count}`}
        title={others > 0 ? `${wholeNumber(others)} more are NaN or infinite` : undefined}
      >
        {wholeNumber(count)}
        {others > 0 && <span className={classes.others}> +{wholeNumber(others)}</span>}
      </td>
      {(["mean", "std", "min", "max"] as const).map((name) => (
        <td key={name} className={classes.number} title={titleOf(summary[name])}>
          {shortNumber(summary[name])}
        </td>
      ))}
    </>
  );
}

function titleOf(value: number | null): string | undefined {
  return value === null ? undefined : String(value);
}

function hasFailed(answer: { error: Error | null } | undefined): boolean {
  return answer !== undefined && answer.error !== null;
}

function keyOf(group: RunGroup, by: string): string {
  return JSON.stringify(group.by[by] ?? null);
}

function valueText(value: GroupValue | undefined): string {
  if (value === null || value === undefined) return "– (none)";
  return typeof value === "number" ? shortNumber(value) : value === "" ? "(empty)" : value;
}
