/** The tab Timeline of a run: its spans over time, and where the time went. */
import { Button, Skeleton } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useMemo, useState } from "react";
import { wholeNumber } from "@/base/numbers";
import { spansProgram } from "@/base/programs";
import { ShareTable } from "@/pages/run/timeline/share_table";
import classes from "@/pages/run/timeline/timeline.module.css";
import { isLive, type Run } from "@/state/run";
import { SPANS_MAX, useSpans } from "@/timeline/reading";
import { sharesOf } from "@/timeline/shares";
import { Timeline } from "@/timeline/timeline";
import type { View } from "@/timeline/view";
import { Empty } from "@/widgets/empty";
import { Failure } from "@/widgets/failure";

const route = getRouteApi("/runs/$run");
/** A move is many views; the address gets the last one. */
const MOVING_MS = 250;

export function TimelineTab(props: { run: Run }): ReactElement {
  const { run } = props;
  const address = route.useSearch();
  const navigate = route.useNavigate();
  const reading = useSpans(run.id);
  const { spans } = reading;
  const [view, setView] = useState<View | null>(
    address.from !== undefined && address.to !== undefined && address.from < address.to
      ? { from: address.from, to: address.to }
      : null,
  );
  const remember = useDebouncedCallback((next: View | null) => {
    void navigate({
      replace: true,
      search: (previous) => ({
        ...previous,
        from: next === null ? undefined : Math.round(next.from),
        to: next === null ? undefined : Math.round(next.to),
      }),
    });
  }, MOVING_MS);
  const shares = useMemo(() => (spans === null ? [] : sharesOf(spans)), [spans]);
  const path = address.span ?? null;

  if (reading.error !== null && spans === null) {
    return <Failure error={reading.error} onRetry={reading.again} />;
  }
  if (spans === null) return <Skeleton height={320} />;
  if (spans.count === 0 && !reading.isReading) {
    return (
      <Empty
        title={
          reading.prunedCount > 0
            ? `Retention has deleted all ${wholeNumber(reading.prunedCount)} spans for their age.`
            : "This run has no spans."
        }
        code={spansProgram(run.project)}
      >
        Spans time the parts of a step, on every stream and rank.
      </Empty>
    );
  }
  return (
    <>
      <p className={classes.quiet} role="status">
        {wholeNumber(spans.count)} spans{reading.isReading && ", reading more …"}
        {reading.isCut && `: the first ${wholeNumber(SPANS_MAX)} of them are shown`}
        {reading.prunedCount > 0 &&
          `; retention has deleted ${wholeNumber(reading.prunedCount)} for their age`}{" "}
        {isLive(run) && !reading.isReading && (
          <Button variant="default" size="compact-xs" onClick={reading.again}>
            Read anew
          </Button>
        )}
      </p>
      {reading.error !== null && <Failure error={reading.error} onRetry={reading.again} />}
      <Timeline
        spans={spans}
        view={view}
        path={path}
        onView={(next) => {
          setView(next);
          remember(next);
        }}
      />
      <h2 className={classes.title}>Where the time went</h2>
      <ShareTable
        shares={shares}
        path={path}
        onPath={(chosen) => {
          void navigate({
            replace: true,
            search: (previous) => ({ ...previous, span: chosen ?? undefined }),
          });
        }}
      />
    </>
  );
}
