/** What the runs ran in, side by side: by default only what differs. */
import { Skeleton } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useColumns } from "@/pages/compare/columns";
import classes from "@/pages/compare/compare.module.css";
import { compared } from "@/pages/compare/differences";
import { ValuesSection } from "@/pages/compare/values_table";
import { together } from "@/state/answers";
import { documentQuery } from "@/state/run";
import { Answer } from "@/widgets/answer";

/** What the first process of a run has written; others run in the same. */
const PRODUCER = { stream: "", rank: 0 };

export function EnvironmentSection(props: { isAllShown: boolean; part: string }): ReactElement {
  const columns = useColumns();
  const found = together(
    useQueries({
      queries: columns.map(({ run }) => documentQuery(run.id, "environment", PRODUCER)),
    }),
  );
  return (
    <Answer found={found} waiting={<Waiting />}>
      {(documents) => (
        <ValuesSection
          title="Environment"
          rows={compared(documents.map((document) => document?.content ?? null))}
          none="No run has an environment: et.init captures one, and PUT /v1/runs/{run}/environment takes it."
          {...props}
        />
      )}
    </Answer>
  );
}

function Waiting(): ReactElement {
  return (
    <div className={classes.padded}>
      <Skeleton height={64} />
    </div>
  );
}
