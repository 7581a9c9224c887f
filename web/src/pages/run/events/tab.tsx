/** The tab Events of a run: its life and what it is warned of, newest first. */
import { SegmentedControl, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { wholeNumber } from "@/base/numbers";
import { localTime, utcTime } from "@/base/times";
import { entryText, type Tone } from "@/pages/run/events/entries";
import classes from "@/pages/run/events/events.module.css";
import { type LifeEntry, lifeQuery, type Run } from "@/state/run";
import { Answer } from "@/widgets/answer";
import { Empty } from "@/widgets/empty";

const route = getRouteApi("/runs/$run");
const MARKS: Record<Tone, string> = { plain: "•", warn: "!", bad: "✕", good: "✓" };

export function EventsTab(props: { run: Run }): ReactElement {
  const life = useQuery(lifeQuery(props.run.id));
  return (
    <Answer found={life} waiting={<Skeleton height={200} />}>
      {(known) => <Life life={known} />}
    </Answer>
  );
}

function Life(props: { life: readonly LifeEntry[] }): ReactElement {
  const { life } = props;
  const { events: shown = "all" } = route.useSearch();
  const navigate = route.useNavigate();
  const warnings = life.filter(({ kind }) => kind === "warning");
  const entries = (shown === "all" ? life : warnings).toReversed();
  return (
    <>
      <div className={classes.bar}>
        <SegmentedControl
          aria-label="Which events are shown"
          value={shown}
          onChange={(chosen) => {
            void navigate({
              replace: true,
              search: (previous) => ({
                ...previous,
                events: chosen === "warnings" ? ("warnings" as const) : undefined,
              }),
            });
          }}
          data={[
            { value: "all", label: `All ${wholeNumber(life.length)}` },
            { value: "warnings", label: `Warnings ${wholeNumber(warnings.length)}` },
          ]}
        />
      </div>
      {entries.length === 0 ? (
        <Empty title={shown === "all" ? "Nothing has happened yet." : "No warnings."}>
          {shown === "all"
            ? "Changes of status, name and experiment appear here, and what was not kept."
            : "All that was logged was kept."}
        </Empty>
      ) : (
        <ol className={classes.list}>
          {entries.map((entry) => (
            <Entry key={entry.id} entry={entry} />
          ))}
        </ol>
      )}
    </>
  );
}

function Entry(props: { entry: LifeEntry }): ReactElement {
  const { entry } = props;
  const { title, detail, tone } = entryText(entry);
  return (
    <li className={classes.entry} data-tone={tone}>
      <time dateTime={entry.time} title={utcTime(entry.time)} className={classes.time}>
        {localTime(entry.time)}
      </time>
      <span aria-hidden="true" className={classes.mark}>
        {MARKS[tone]}
      </span>
      <span className={classes.what}>
        <span className={classes.title}>{title}</span>
        {detail !== "" && <span className={classes.detail}>{detail}</span>}
      </span>
      <span className={classes.user} title={entry.user}>
        {entry.user === "" ? "the platform" : entry.user}
      </span>
    </li>
  );
}
