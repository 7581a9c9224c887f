/** Environment, config and spec: documents of a producer, as keys and values. */
import { Select, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useMemo, useState } from "react";
import { leavesOf } from "@/base/nested";
import { type Leaf, NestedRows } from "@/pages/run/nested_rows";
import classes from "@/pages/run/overview/overview.module.css";
import { Section } from "@/pages/run/overview/section";
import { attemptsQuery, documentQuery, type Run } from "@/state/run";
import { Answer } from "@/widgets/answer";

interface Producer {
  stream: string;
  rank: number;
}

export function Documents(props: { run: Run }): ReactElement {
  const { run } = props;
  const attempts = useQuery(attemptsQuery(run.id));
  const producers = producersOf(attempts.data ?? []);
  const [chosen, setChosen] = useState(0);
  const producer = producers[chosen] ?? { stream: "", rank: 0 };
  const choice =
    producers.length < 2 ? undefined : (
      <Select
        aria-label="Stream and rank"
        className={classes.producer}
        allowDeselect={false}
        value={String(chosen)}
        data={producers.map((one, at) => ({ value: String(at), label: producerName(one) }))}
        onChange={(at) => {
          setChosen(Number(at));
        }}
      />
    );
  return (
    <>
      <Document
        run={run.id}
        name="environment"
        title="Environment"
        producer={producer}
        aside={choice}
      />
      <Document run={run.id} name="config" title="Config" producer={producer} />
      {run.spec != null && (
        <Section title="Spec">
          <Content label="Spec" content={run.spec} />
        </Section>
      )}
    </>
  );
}

interface DocumentProps {
  run: string;
  name: "environment" | "config";
  title: string;
  producer: Producer;
  aside?: ReactElement | undefined;
}

function Document(props: DocumentProps): ReactElement {
  const { run, name, title, producer, aside } = props;
  const found = useQuery(documentQuery(run, name, producer));
  return (
    <Section title={title} aside={aside}>
      <Answer key={JSON.stringify(producer)} found={found} waiting={<Skeleton height={96} />}>
        {(document) =>
          document === null ? (
            <p className={classes.none}>None was kept.</p>
          ) : (
            <Content label={title} content={document.content} />
          )
        }
      </Answer>
    </Section>
  );
}

function Content(props: { label: string; content: unknown }): ReactElement {
  const [sought, setSought] = useState("");
  const [isTree, setIsTree] = useState(true);
  const leaves = useMemo(
    () =>
      leavesOf(props.content).map(([key, value]): [string, Leaf] => [
        key,
        {
          text: typeof value === "string" ? value : JSON.stringify(value),
        },
      ]),
    [props.content],
  );
  return (
    <NestedRows
      label={props.label}
      leaves={leaves}
      sought={sought}
      onSeek={setSought}
      isTree={isTree}
      onTree={setIsTree}
    />
  );
}

/** Returns who may have written a document, the default stream and rank first. */
function producersOf(attempts: readonly Producer[]): Producer[] {
  const found = new Map<string, Producer>([["\n0", { stream: "", rank: 0 }]]);
  for (const { stream, rank } of attempts) found.set(`${stream}\n${rank}`, { stream, rank });
  return [...found.values()];
}

function producerName(producer: Producer): string {
  const stream = producer.stream === "" ? "default stream" : producer.stream;
  return producer.rank === 0 ? stream : `${stream}, rank ${producer.rank}`;
}
