/** What the runs ran in, side by side: by default only what differs. */
import { Skeleton } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useColumns } from "@/pages/compare/columns";
import classes from "@/pages/compare/compare.module.css";
import { compared } from "@/pages/compare/differences";
import { ValuesSection } from "@/pages/compare/values_table";
import { together } from "@/state/answers";
import { type DocumentPlace, documentQuery, documentsQuery } from "@/state/run";
import { Answer } from "@/widgets/answer";

/** What the first process of a run has written; others run in the same. */
const PRODUCER = { stream: "", rank: 0 };

export function EnvironmentSection(props: { isAllShown: boolean; part: string }): ReactElement {
  const columns = useColumns();
  const found = together(useQueries({ queries: columns.map(({ run }) => documentsQuery(run.id)) }));
  return (
    <Answer found={found} waiting={<Waiting />}>
      {(known) => <Written places={known.map(placeOf)} {...props} />}
    </Answer>
  );
}

/** Asks for what was written alone: the others have none. */
function Written(props: {
  /** Of each run that is compared. */
  places: readonly (DocumentPlace | undefined)[];
  isAllShown: boolean;
  part: string;
}): ReactElement {
  const { places, isAllShown, part } = props;
  const columns = useColumns();
  const written = columns.flatMap(({ run }, at) => {
    const place = places[at];
    return place === undefined ? [] : [{ run: run.id, place }];
  });
  const found = together(
    useQueries({
      queries: written.map(({ run, place }) => documentQuery(run, "environment", place)),
    }),
  );
  return (
    <Answer found={found} waiting={<Waiting />}>
      {(documents) => {
        const contents = new Map(written.map(({ run }, at) => [run, documents[at]?.content]));
        return (
          <ValuesSection
            title="Environment"
            rows={compared(columns.map(({ run }) => contents.get(run.id) ?? null))}
            none="No run has an environment: et.init captures one, and PUT /v1/runs/{run}/environment takes it."
            {...{ isAllShown, part }}
          />
        );
      }}
    </Answer>
  );
}

function placeOf(documents: readonly DocumentPlace[]): DocumentPlace | undefined {
  return documents.find(
    ({ name, stream, rank }) =>
      name === "environment" && stream === PRODUCER.stream && rank === PRODUCER.rank,
  );
}

function Waiting(): ReactElement {
  return (
    <div className={classes.padded}>
      <Skeleton height={64} />
    </div>
  );
}
