/** The numbers that are known of each series, side by side, the best of a row marked. */
import { SegmentedControl, UnstyledButton, VisuallyHidden } from "@mantine/core";
import type { ReactElement } from "react";
import { shortNumber, wholeNumber } from "@/base/numbers";
import { CompareTable } from "@/pages/compare/columns";
import classes from "@/pages/compare/compare.module.css";
import { ManyRows } from "@/pages/compare/many_rows";
import {
  bestOf,
  directionOf,
  isDifferent,
  statOf,
  STATS,
  turned,
  type ComparedSeries,
  type SeriesStat,
} from "@/pages/compare/summaries";
import { hasPart } from "@/pages/compare/values_table";
import { seriesName } from "@/state/series";

interface Props {
  series: readonly ComparedSeries[];
  stat: SeriesStat;
  best: readonly string[];
  isAllShown: boolean;
  part: string;
  onStat: (stat: SeriesStat) => void;
  onBest: (best: string[]) => void;
}

export function SummariesSection(props: Props): ReactElement {
  const { series, stat, best, isAllShown, part, onStat, onBest } = props;
  const rows = series
    .map((one) => ({
      one,
      name: seriesName(one),
      values: one.summaries.map((summary) => statOf(summary, stat)),
    }))
    .filter(({ name }) => hasPart(name, part));
  const shown = rows.filter(({ values }) => isAllShown || isDifferent(values));
  const sameCount = rows.length - shown.length;
  return (
    <section className={classes.section}>
      <h2>
        Metrics
        <span className={classes.said}>
          {series.length === 0
            ? ""
            : `${wholeNumber(shown.length)} shown${
                sameCount === 0 ? "" : `, ${wholeNumber(sameCount)} the same in all runs not shown`
              }`}
        </span>
        {series.length > 0 && (
          <>
            <span className={classes.rest} />
            <SegmentedControl
              aria-label="Which number of each series"
              value={stat}
              onChange={onStat}
              data={STATS.map((value) => ({ value, label: value }))}
            />
          </>
        )}
      </h2>
      {series.length === 0 && (
        <p className={`${classes.padded} ${classes.missing}`}>The runs have logged no metrics.</p>
      )}
      {shown.length > 0 && (
        <ManyRows rows={shown}>
          {(some) => (
            <CompareTable label="Metrics" corner="Series">
              {some.map(({ one, name, values }) => {
                const direction = directionOf(name, one.key, best);
                const marked = bestOf(values, direction);
                return (
                  <tr key={name} data-different="true">
                    <th scope="row" className={classes.key}>
                      <span className={classes.series}>
                        <span className={classes.value} title={nameToRead(one)}>
                          {nameToRead(one)}
                        </span>
                        <UnstyledButton
                          className={classes.turn}
                          title={`The ${wordOf(direction)} is the best; a click turns it round`}
                          onClick={() => {
                            onBest(turned(name, one.key, best));
                          }}
                        >
                          {direction === "min" ? "↓ min" : "↑ max"}
                          <VisuallyHidden> of {name} is the best: turn it round</VisuallyHidden>
                        </UnstyledButton>
                      </span>
                    </th>
                    {values.map((value, at) => (
                      <td key={at}>
                        <Value value={value} isBest={marked.has(at)} />
                      </td>
                    ))}
                  </tr>
                );
              })}
            </CompareTable>
          )}
        </ManyRows>
      )}
    </section>
  );
}

/** Returns the name of a series; of one that was none of ours the whole of it, as it was logged. */
function nameToRead(series: ComparedSeries): string {
  const { raw, ...others } = series.labels;
  const isForeign = raw !== undefined && Object.keys(others).length === 0;
  const logged = series.summaries.find((summary) => summary !== null)?.name;
  return (isForeign ? logged : undefined) ?? seriesName(series);
}

function wordOf(direction: "min" | "max"): string {
  return direction === "min" ? "smallest" : "largest";
}

function Value(props: { value: number | null; isBest: boolean }): ReactElement {
  const { value, isBest } = props;
  if (value === null) return <span className={classes.missing}>–</span>;
  const text = shortNumber(value);
  if (!Number.isFinite(value)) return <span className={classes.odd}>{text}</span>;
  return (
    <span className={isBest ? classes.best : undefined} title={String(value)}>
      {isBest && <VisuallyHidden>best: </VisuallyHidden>}
      {text}
    </span>
  );
}
