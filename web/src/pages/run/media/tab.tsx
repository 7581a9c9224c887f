/** The tab Media of a run: images and tables by key, at one step or at all of them. */
import { Button, SegmentedControl, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useDeferredValue, useMemo, useState } from "react";
import { wholeNumber } from "@/base/numbers";
import { mediaProgram } from "@/base/programs";
import { MediaCard } from "@/pages/run/media/card";
import classes from "@/pages/run/media/media.module.css";
import { Steps } from "@/pages/run/media/steps";
import {
  groupsOf,
  itemAt,
  type MediaGroup,
  type MediaList,
  mediaQuery,
  stepsOf,
} from "@/state/media";
import type { Run } from "@/state/run";
import { Answer } from "@/widgets/answer";
import { Empty } from "@/widgets/empty";
import { SearchBox } from "@/widgets/search_box";

const route = getRouteApi("/runs/$run");
/** Of one key so many steps are drawn at a time. */
const STRIP = 24;
type Size = "small" | "large";

export function MediaTab(props: { run: Run }): ReactElement {
  const media = useQuery(mediaQuery(props.run.id));
  return (
    <Answer found={media} waiting={<Skeleton height={320} />}>
      {(known) => <Gallery run={props.run} media={known} />}
    </Answer>
  );
}

function Gallery(props: { run: Run; media: MediaList }): ReactElement {
  const { run, media } = props;
  const { media: sought = "", step, steps: which, size = "small" } = route.useSearch();
  const navigate = route.useNavigate();
  const isAll = which === "all";
  const wanted = useDeferredValue(sought).trim().toLowerCase();
  const groups = useMemo(() => groupsOf(media.items), [media.items]);
  const steps = useMemo(() => stepsOf(groups), [groups]);
  const found = groups.filter(({ name }) => name.toLowerCase().includes(wanted));
  if (groups.length === 0) {
    return (
      <Empty
        title={
          media.prunedCount > 0
            ? `Retention has deleted all ${wholeNumber(media.prunedCount)} items for their age.`
            : "This run has no media."
        }
        code={mediaProgram(run.project)}
      >
        Small tables, and with <code>et.Image</code> and <code>et.Figure</code> images and figures.
      </Empty>
    );
  }
  const at = step ?? steps.at(-1) ?? null;
  return (
    <>
      <div className={classes.bar}>
        <SearchBox
          label="Search in keys"
          placeholder="Search keys"
          className={classes.search}
          value={sought}
          onSeek={(text) => {
            void navigate({
              replace: true,
              search: (previous) => ({ ...previous, media: text === "" ? undefined : text }),
            });
          }}
        />
        <SegmentedControl
          aria-label="Which steps are shown"
          value={isAll ? "all" : "one"}
          data={[
            { value: "one", label: "One step" },
            { value: "all", label: "All steps" },
          ]}
          onChange={(value) => {
            void navigate({
              replace: true,
              search: (previous) => ({
                ...previous,
                steps: value === "all" ? ("all" as const) : undefined,
              }),
            });
          }}
        />
        <SegmentedControl
          aria-label="Size"
          value={size}
          data={[
            { value: "small", label: "Small" },
            { value: "large", label: "Large" },
          ]}
          onChange={(value) => {
            void navigate({
              replace: true,
              search: (previous) => ({
                ...previous,
                size: value === "large" ? ("large" as const) : undefined,
              }),
            });
          }}
        />
        {!isAll && steps.length > 0 && at !== null && (
          <Steps
            steps={steps}
            step={at}
            onStep={(chosen) => {
              const isLast = chosen === steps.at(-1);
              void navigate({
                replace: true,
                search: (previous) => ({ ...previous, step: isLast ? undefined : chosen }),
              });
            }}
          />
        )}
      </div>
      {media.prunedCount > 0 && (
        <p className={classes.quiet}>
          Retention has deleted {wholeNumber(media.prunedCount)} items for their age.
        </p>
      )}
      {found.length === 0 && <Empty title="No key matches the search." />}
      {isAll ? (
        found.map((group) => <AllSteps key={group.name} run={run.id} group={group} size={size} />)
      ) : (
        <div className={classes.gallery} data-size={size}>
          {found.map((group) => (
            <MediaCard
              key={group.name}
              run={run.id}
              name={group.name}
              item={itemAt(group, at)}
              step={at}
              isWide={group.items[0]?.format === "table"}
            />
          ))}
        </div>
      )}
    </>
  );
}

/** What one key has, side by side. */
function AllSteps(props: { run: string; group: MediaGroup; size: Size }): ReactElement {
  const { run, group, size } = props;
  const [shown, setShown] = useState(STRIP);
  return (
    <section aria-label={group.name} className={classes.strip}>
      <h2 className={classes.key}>
        {group.name} <span className={classes.quiet}>{wholeNumber(group.items.length)}</span>
      </h2>
      <div className={classes.row} data-size={size} tabIndex={0} role="group" aria-label="Steps">
        {group.items.slice(0, shown).map((item) => (
          <MediaCard
            key={item.id}
            run={run}
            name={group.name}
            item={item}
            step={item.step}
            isWide={false}
            isNamed
          />
        ))}
        {group.items.length > shown && (
          <Button
            variant="default"
            className={classes.more}
            onClick={() => {
              setShown(shown + STRIP);
            }}
          >
            {`Show more: ${wholeNumber(group.items.length - shown)} are left`}
          </Button>
        )}
      </div>
    </section>
  );
}
