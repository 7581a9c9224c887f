/** The series of a run as numbers: last value, extremes and where they are, mean, count. */
import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useDeferredValue, useMemo } from "react";
import { shortNumber, wholeNumber } from "@/base/numbers";
import classes from "@/pages/run/series_table.module.css";
import { asNumber, type Series, seriesName, seriesQuery } from "@/state/series";
import { Answer } from "@/widgets/answer";
import { Empty } from "@/widgets/empty";
import { SearchBox } from "@/widgets/search_box";
import { VirtualRows } from "@/widgets/virtual_rows";

const route = getRouteApi("/runs/$run");
/** From here on a search is worth its place. */
const SEARCH_MIN = 12;

export function SeriesTable(props: { run: string }): ReactElement {
  const series = useQuery(seriesQuery(props.run));
  return (
    <Answer found={series} waiting={<Skeleton height={160} />}>
      {(known) => <Rows series={known} />}
    </Answer>
  );
}

function Rows(props: { series: readonly Series[] }): ReactElement {
  const { series } = props;
  const { series: sought = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const wanted = useDeferredValue(sought).trim().toLowerCase();
  const found = useMemo(
    () =>
      series.filter(
        (one) =>
          wanted === "" ||
          seriesName(one).toLowerCase().includes(wanted) ||
          one.name.toLowerCase().includes(wanted),
      ),
    [series, wanted],
  );
  if (series.length === 0) {
    return (
      <Empty title="This run has no metrics yet.">
        They appear here as soon as they are logged.
      </Empty>
    );
  }
  return (
    <>
      {(series.length >= SEARCH_MIN || sought !== "") && (
        <SearchBox
          label="Search in series"
          placeholder="Search series"
          className={classes.search}
          value={sought}
          onSeek={(text) => {
            void navigate({
              replace: true,
              search: (previous) => ({ ...previous, series: text === "" ? undefined : text }),
            });
          }}
        />
      )}
      {found.length === 0 ? (
        <Empty title="No series matches the search." />
      ) : (
        <VirtualRows
          label="Series"
          className={classes.table}
          count={found.length}
          rowHeight={32}
          rowKey={(at) => (found[at] === undefined ? at : seriesName(found[at]))}
          head={
            <div role="row" className={classes.head}>
              <span role="columnheader">Series</span>
              {["Last", "Min", "Max", "Mean", "Points", "Not finite"].map((name) => (
                <span key={name} role="columnheader" className={classes.number}>
                  {name}
                </span>
              ))}
            </div>
          }
        >
          {(at) => (found[at] === undefined ? null : <Row series={found[at]} />)}
        </VirtualRows>
      )}
    </>
  );
}

function Row(props: { series: Series }): ReactElement {
  const { series } = props;
  const name = seriesName(series);
  const steps = (step: number | null): string => (step === null ? "" : `at step ${step}`);
  return (
    <div role="row" className={classes.row}>
      <span role="cell" className={classes.name} title={`${name}\nlogged as ${series.name}`}>
        {name}
      </span>
      <Value value={asNumber(series.last_value)} title={steps(series.last_step)} />
      <Value value={series.min_value} title={steps(series.min_step)} />
      <Value value={series.max_value} title={steps(series.max_step)} />
      <Value value={series.mean} title="of the finite values" />
      <span role="cell" className={classes.number}>
        {wholeNumber(series.count)}
      </span>
      <span
        role="cell"
        className={classes.number}
        data-bad={series.nonfinite_count > 0}
        title="NaN or infinite"
      >
        {series.nonfinite_count === 0 ? "–" : wholeNumber(series.nonfinite_count)}
      </span>
    </div>
  );
}

function Value(props: { value: number | null; title: string }): ReactElement {
  const { value, title } = props;
  return (
    <span
      role="cell"
      className={classes.number}
      title={value === null ? undefined : `${value} ${title}`}
    >
      {shortNumber(value)}
    </span>
  );
}
