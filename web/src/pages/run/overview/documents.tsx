/** Environment, config and spec: documents of a producer, as keys and values. */
import { Select, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, type ReactNode, useMemo } from "react";
import { leavesOf } from "@/base/nested";
import type { DocumentName } from "@/pages/run/address";
import { type Leaf, NestedRows } from "@/pages/run/nested_rows";
import classes from "@/pages/run/overview/overview.module.css";
import {
  askedProducer,
  type Producer,
  producerName,
  producersOf,
} from "@/pages/run/overview/producers";
import { Section } from "@/pages/run/overview/section";
import { every } from "@/state/queries";
import { type DocumentPlace, documentQuery, documentsQuery, isLive, type Run } from "@/state/run";
import { Answer } from "@/widgets/answer";

const route = getRouteApi("/runs/$run");
/** A run that goes on may still write some. */
const LIVE_MS = 10_000;
/** Of those that a producer writes. */
const NAMES = [
  { name: "environment", title: "Environment" },
  { name: "config", title: "Config" },
] as const;

export function Documents(props: { run: Run }): ReactElement {
  const { run } = props;
  const documents = useQuery({
    ...documentsQuery(run.id),
    refetchInterval: every(LIVE_MS, isLive(run)),
  });
  return (
    <>
      <Answer found={documents} waiting={<Waiting />}>
        {(known) => <Written run={run.id} documents={known} />}
      </Answer>
      {run.spec != null && (
        <Section title="Spec">
          <Content name="spec" title="Spec" content={run.spec} />
        </Section>
      )}
    </>
  );
}

function Written(props: { run: string; documents: readonly DocumentPlace[] }): ReactElement {
  const { run, documents } = props;
  const address = route.useSearch();
  const asked = askedProducer(address);
  const producers = producersOf(documents, asked);
  const producer = asked ?? producers[0] ?? { stream: "", rank: 0 };
  return (
    <>
      {NAMES.map(({ name, title }, at) => {
        const place = documents.find(
          (one) =>
            one.name === name && one.stream === producer.stream && one.rank === producer.rank,
        );
        return (
          <Section
            key={name}
            title={title}
            aside={at === 0 && <ProducerChoice {...{ producers, producer }} />}
          >
            {place === undefined ? (
              <p className={classes.none}>None was kept.</p>
            ) : (
              <Document key={JSON.stringify(producer)} {...{ run, name, title, place }} />
            )}
          </Section>
        );
      })}
    </>
  );
}

function ProducerChoice(props: { producers: readonly Producer[]; producer: Producer }): ReactNode {
  const { producers, producer } = props;
  const navigate = route.useNavigate();
  if (producers.length < 2) {
    const isDefault = producer.stream === "" && producer.rank === 0;
    return isDefault ? null : <span className={classes.whose}>of {producerName(producer)}</span>;
  }
  const valueOf = ({ stream, rank }: Producer): string => JSON.stringify([stream, rank]);
  return (
    <Select
      aria-label="Stream and rank"
      className={classes.producer}
      allowDeselect={false}
      value={valueOf(producer)}
      data={producers.map((one) => ({ value: valueOf(one), label: producerName(one) }))}
      searchable={producers.length > 10}
      onChange={(value) => {
        const chosen = producers.find((one) => valueOf(one) === value);
        if (chosen === undefined) return;
        const isFirst = chosen === producers[0];
        void navigate({
          replace: true,
          resetScroll: false,
          search: (previous) => ({
            ...previous,
            stream: isFirst || chosen.stream === "" ? undefined : chosen.stream,
            rank: isFirst || chosen.rank === 0 ? undefined : chosen.rank,
          }),
        });
      }}
    />
  );
}

function Document(props: {
  run: string;
  name: "environment" | "config";
  title: string;
  place: DocumentPlace;
}): ReactElement {
  const { run, name, title, place } = props;
  const found = useQuery(documentQuery(run, name, place));
  return (
    <Answer found={found} waiting={<Skeleton height={96} />}>
      {(document) =>
        document === null ? (
          <p className={classes.none}>It is there no more.</p>
        ) : (
          <Content name={name} title={title} content={document.content} />
        )
      }
    </Answer>
  );
}

function Content(props: { name: DocumentName; title: string; content: unknown }): ReactElement {
  const { name, title, content } = props;
  const { flat = [], [name]: sought = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const leaves = useMemo(
    () =>
      leavesOf(content).map(([key, value]): [string, Leaf] => [
        key,
        {
          text: typeof value === "string" ? value : JSON.stringify(value),
        },
      ]),
    [content],
  );
  return (
    <NestedRows
      label={title}
      leaves={leaves}
      sought={sought}
      onSeek={(text) =>
        void navigate({
          replace: true,
          resetScroll: false,
          search: (previous) => ({ ...previous, [name]: text === "" ? undefined : text }),
        })
      }
      isTree={!flat.includes(name)}
      onTree={(isTree) => {
        const others = flat.filter((one) => one !== name);
        const next = isTree ? others : [...others, name];
        void navigate({
          replace: true,
          resetScroll: false,
          search: (previous) => ({ ...previous, flat: next.length === 0 ? undefined : next }),
        });
      }}
    />
  );
}

function Waiting(): ReactElement {
  return (
    <>
      {NAMES.map(({ name, title }) => (
        <Section key={name} title={title}>
          <Skeleton height={96} />
        </Section>
      ))}
    </>
  );
}
