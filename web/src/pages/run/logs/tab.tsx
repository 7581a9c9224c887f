/** The tab Logs of a run: what it wrote, newest at the end, as a terminal would show it. */
import { Button, SegmentedControl, Select, Skeleton } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { wholeNumber } from "@/base/numbers";
import { printingProgram } from "@/base/programs";
import { LOG_LEVELS } from "@/pages/run/address";
import { LogRows } from "@/pages/run/logs/rows";
import classes from "@/pages/run/logs/logs.module.css";
import { useLog } from "@/state/log_lines";
import { isLive, type Run } from "@/state/run";
import { Empty } from "@/widgets/empty";
import { Failure } from "@/widgets/failure";
import { SearchBox } from "@/widgets/search_box";
import { Stale } from "@/widgets/stale";

const route = getRouteApi("/runs/$run");
/** The server's limit of what is looked for. */
const SEARCH_LENGTH_MAX = 200;

export function LogsTab(props: { run: Run }): ReactElement {
  const { run } = props;
  const { level = "debug", log: text = "", start } = route.useSearch();
  const from = start ?? "newest";
  const navigate = route.useNavigate();
  const log = useLog(run.id, { level, text, from });
  const isFiltered = text !== "" || level !== "debug";
  return (
    <>
      <div className={classes.bar}>
        <SearchBox
          label="Search in messages"
          placeholder="Search messages"
          className={classes.search}
          maxLength={SEARCH_LENGTH_MAX}
          value={text}
          onSeek={(wanted) => {
            void navigate({
              replace: true,
              search: (previous) => ({ ...previous, log: wanted === "" ? undefined : wanted }),
            });
          }}
        />
        <Select
          aria-label="Least level"
          className={classes.level}
          allowDeselect={false}
          value={level}
          data={LOG_LEVELS.map((name) => ({
            value: name,
            label: name === "debug" ? "all levels" : name === "error" ? "error" : `${name} and up`,
          }))}
          onChange={(chosen) => {
            const found = LOG_LEVELS.find((name) => name === chosen);
            void navigate({
              replace: true,
              search: (previous) => ({
                ...previous,
                level: found === "debug" ? undefined : found,
              }),
            });
          }}
        />
        <SegmentedControl
          aria-label="Where reading begins"
          value={from}
          onChange={(chosen) => {
            void navigate({
              replace: true,
              search: (previous) => ({
                ...previous,
                start: chosen === "first" ? ("first" as const) : undefined,
              }),
            });
          }}
          data={[
            { value: "newest", label: "Newest" },
            { value: "first", label: "From the first" },
          ]}
        />
        <span className={classes.count} aria-live="off">
          {log.lines.length > 0 && `${wholeNumber(log.lines.length)} read`}
          {log.lines.length > 0 &&
            (from === "newest" ? log.hasEarlier : log.hasLater) &&
            ", scroll for more"}
        </span>
      </div>
      {log.prunedCount > 0 && (
        <p className={classes.count}>
          Retention has deleted {wholeNumber(log.prunedCount)} lines for their age.
        </p>
      )}
      {log.error !== null &&
        (log.isFirst ? (
          <Failure error={log.error} isBusy={log.isReading} onRetry={log.retry} />
        ) : (
          <Stale error={log.error} isBusy={log.isReading} onRetry={log.retry} />
        ))}
      {log.lines.length > 0 ? (
        // Another filter is another list: no place in it goes along.
        <LogRows key={`${level} ${from} ${text}`} log={log} from={from} isLive={isLive(run)} />
      ) : log.isFirst ? (
        log.error === null && <Skeleton height={320} />
      ) : isFiltered ? (
        <div>
          <Empty title="No line matches.">
            <Button
              variant="default"
              onClick={() => {
                void navigate({
                  search: (previous) => ({ ...previous, log: undefined, level: undefined }),
                });
              }}
            >
              Show all lines
            </Button>
          </Empty>
        </div>
      ) : (
        <div>
          <Empty title="This run has no log lines." code={printingProgram(run.project)}>
            What a program prints is kept where <code>et.init</code> is told so; the platform&apos;s
            client writes lines itself.
          </Empty>
        </div>
      )}
    </>
  );
}
