/** Curves of the runs over each other: a chart for each key, a colour for each run. */
import { Button, SegmentedControl, Switch } from "@mantine/core";
import { useMemo, useState, type ReactElement } from "react";
import { wholeNumber } from "@/base/numbers";
import { OWN_AXES } from "@/charts/axes";
import { CurveChart } from "@/charts/curve_chart";
import type { LineSource } from "@/charts/following";
import { ChartGroup, ChartGroupProvider } from "@/charts/group";
import { PLAIN } from "@/charts/settings";
import { useColumns, type Column } from "@/pages/compare/columns";
import classes from "@/pages/compare/compare.module.css";
import { shortName } from "@/pages/compare/names";
import type { ComparedSeries } from "@/pages/compare/summaries";
import { hasPart } from "@/pages/compare/values_table";
import { asNumber, labelsText, seriesName } from "@/state/series";

/** Charts that are laid out at once; each reads its points when it comes near. */
const PAGE = 24;
/** Pixels of a chart without its legend, and of a line of that. */
const CHART_HEIGHT = 272;
const LEGEND_HEIGHT = 24;
/** More lines of a legend than this scroll. */
const LINES_MAX = 8;
/** Letters of a name: a legend cuts longer ones at their end, where long names differ. */
const NAME_LETTERS = 28;
type OwnAxis = (typeof OWN_AXES)[number]["value"];

export function CurvesSection(props: {
  series: readonly ComparedSeries[];
  part: string;
  axis: OwnAxis;
  isLog: boolean;
  onAxis: (axis: OwnAxis) => void;
  onLog: (isLog: boolean) => void;
}): ReactElement {
  const { series, part, axis, isLog, onAxis, onLog } = props;
  const columns = useColumns();
  const [count, setCount] = useState(PAGE);
  const [group] = useState(() => new ChartGroup());
  const charts = useMemo(() => chartsOf(series, columns), [series, columns]);
  const shown = charts.filter(({ key }) => hasPart(key, part));
  const drawn = shown.slice(0, count);
  // All have room for the longest legend: charts in a row end in one line.
  const lineCount = Math.max(1, ...drawn.map(({ lines }) => lines.length));
  const height = CHART_HEIGHT + (1 + Math.min(lineCount, LINES_MAX)) * LEGEND_HEIGHT;
  const settings = useMemo(() => ({ ...PLAIN, axis, isLogY: isLog }), [axis, isLog]);
  return (
    <section className={classes.section}>
      <h2>
        Curves
        <span className={classes.said}>
          {charts.length === 0 ? "no run has logged any" : wholeNumber(shown.length)}
        </span>
        {charts.length > 0 && (
          <>
            <span className={classes.rest} />
            <Switch
              label="log y"
              checked={isLog}
              onChange={(event) => {
                onLog(event.currentTarget.checked);
              }}
            />
            <SegmentedControl
              aria-label="Drawn over"
              value={axis}
              data={[...OWN_AXES]}
              onChange={onAxis}
            />
          </>
        )}
      </h2>
      <ChartGroupProvider value={group}>
        <div className={classes.charts}>
          {drawn.map(({ key, lines }) => (
            <div key={key} className={classes.chart} style={{ height }}>
              <CurveChart name={key} lines={lines} settings={settings} />
            </div>
          ))}
        </div>
      </ChartGroupProvider>
      {shown.length > count && (
        <div className={classes.padded}>
          <Button
            variant="default"
            onClick={() => {
              setCount(count + PAGE);
            }}
          >
            {`Show more: ${wholeNumber(shown.length - count)} are left`}
          </Button>
        </div>
      )}
    </section>
  );
}

/** Returns a chart for each key that has curves: all its series of all runs. */
function chartsOf(
  series: readonly ComparedSeries[],
  columns: readonly Column[],
): { key: string; lines: LineSource[] }[] {
  const charts = new Map<string, LineSource[]>();
  for (const one of series) {
    const lines = one.summaries.flatMap((summary, at): LineSource[] => {
      const column = columns[at];
      if (summary === null || summary.is_scalar || column === undefined) return [];
      const name = seriesName(one);
      const called = shortName(column, NAME_LETTERS);
      return [
        {
          id: `${column.run.id} ${name}`,
          name: name === one.key ? called : `${called} ${labelsText(summary)}`,
          run: column.run.id,
          key: one.key,
          labels: one.labels,
          attempt: null,
          colour: column.colour,
          head: {
            count: summary.count - (summary.pruned?.count ?? 0),
            lastStep: summary.last_step,
            last: asNumber(summary.last_value) ?? Number.NaN,
            min: summary.min_value,
            max: summary.max_value,
          },
        },
      ];
    });
    if (lines.length > 0) charts.set(one.key, [...(charts.get(one.key) ?? []), ...lines]);
  }
  return [...charts].map(([key, lines]) => ({ key, lines }));
}
