/** What the runs ran in, side by side: by default only what differs. */
import { Skeleton } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useColumns } from "@/pages/compare/columns";
import classes from "@/pages/compare/compare.module.css";
import { compared } from "@/pages/compare/differences";
import { ValuesSection } from "@/pages/compare/values_table";
import { documentQuery } from "@/state/run";
import { Failure } from "@/widgets/failure";

/** What the first process of a run has written; others run in the same. */
const PRODUCER = { stream: "", rank: 0 };

export function EnvironmentSection(props: { isAllShown: boolean; part: string }): ReactElement {
  const columns = useColumns();
  const found = useQueries({
    queries: columns.map(({ run }) => documentQuery(run.id, "environment", PRODUCER)),
  });
  const failed = found.find(({ error }) => error !== null);
  if (failed !== undefined) {
    return (
      <section className={classes.section}>
        <Failure error={failed.error} onRetry={() => void failed.refetch()} />
      </section>
    );
  }
  if (found.some(({ isPending }) => isPending)) return <Skeleton height={64} m={12} />;
  return (
    <ValuesSection
      title="Environment"
      rows={compared(found.map(({ data }) => data?.content ?? null))}
      none="No run has an environment: et.init captures one, and PUT /v1/runs/{run}/environment takes it."
      {...props}
    />
  );
}
