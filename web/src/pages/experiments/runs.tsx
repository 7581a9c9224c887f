/** The runs of one experiment. */
import { Button, Skeleton } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { api, bodyOf } from "@/api/client";
import { duration } from "@/base/times";
import classes from "@/pages/experiments/experiments.module.css";
import type { Experiment } from "@/pages/experiments/order";
import { Empty } from "@/widgets/empty";
import { Failure } from "@/widgets/failure";
import { Moment } from "@/widgets/moment";
import { Rows, rows } from "@/widgets/rows";
import { StatusMark } from "@/widgets/status";

const PAGE = 100;

/** Where the answers are kept. */
export function runsKey(experiment: Experiment): readonly string[] {
  return ["runs", experiment.project, "experiment", experiment.id];
}

export function ExperimentRuns(props: { experiment: Experiment }): ReactElement {
  const { experiment } = props;
  const filter = `experiment = "${experiment.id}"`;
  const found = useInfiniteQuery({
    queryKey: runsKey(experiment),
    initialPageParam: null as string | null,
    queryFn: async ({ pageParam, signal }) =>
      bodyOf(
        await api.POST("/v1/runs/search", {
          signal,
          body: {
            project: experiment.project,
            filter,
            columns: "duration",
            limit: PAGE,
            ...(pageParam === null ? {} : { cursor: pageParam }),
          },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor,
  });
  const runs = found.data?.pages.flatMap((page) => page.runs);
  return (
    <section className={classes.flush}>
      <h2>
        Runs{" "}
        <Link to="/runs" search={{ project: experiment.project, filter }} className={classes.back}>
          open as a table
        </Link>
      </h2>
      {found.error ? (
        <Failure error={found.error} onRetry={() => void found.refetch()} />
      ) : runs === undefined ? (
        <Skeleton height={240} />
      ) : runs.length === 0 ? (
        <Empty
          title="It has no runs yet"
          code={`mapi runs create --experiment ${JSON.stringify(experiment.name)}`}
        >
          Name it where a run is made, or move runs into it from the table of runs.
        </Empty>
      ) : (
        <Rows label="Runs">
          <thead>
            <tr>
              <th scope="col">Status</th>
              <th scope="col">Name</th>
              <th scope="col" className={rows.roomy}>
                User
              </th>
              <th scope="col" className={rows.roomy}>
                Created
              </th>
              <th scope="col" className={rows.number}>
                Duration
              </th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <tr key={run.id}>
                <td>
                  <StatusMark status={run.status} />
                </td>
                <th scope="row" className={rows.wide} title={run.name}>
                  {run.name}
                </th>
                <td className={rows.roomy}>{run.user}</td>
                <td className={rows.roomy}>
                  <Moment at={run.created} isExact />
                </td>
                <td className={rows.number}>{duration(Number(run.values?.[0] ?? Number.NaN))}</td>
              </tr>
            ))}
          </tbody>
        </Rows>
      )}
      {found.hasNextPage && (
        <Button variant="default" mt={12} onClick={() => void found.fetchNextPage()}>
          Show more
        </Button>
      )}
    </section>
  );
}
