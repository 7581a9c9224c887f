/** Curves of the runs over each other: a chart for each key, a colour for each run. */
import { Button, SegmentedControl, Switch } from "@mantine/core";
import { useMemo, useState, type ReactElement } from "react";
import { wholeNumber } from "@/base/numbers";
import { CurveChart } from "@/charts/curve_chart";
import type { LineSource } from "@/charts/following";
import { ChartGroup, ChartGroupProvider } from "@/charts/group";
import { PLAIN } from "@/charts/settings";
import { nameOf, useColumns, type Column } from "@/pages/compare/columns";
import classes from "@/pages/compare/compare.module.css";
import type { ComparedSeries } from "@/pages/compare/summaries";
import { hasPart } from "@/pages/compare/values_table";
import { asNumber, labelsText, seriesName } from "@/state/series";

/** Charts that are laid out at once; each reads its points when it comes near. */
const PAGE = 24;
const AXES = ["step", "run_time", "time"] as const;

export function CurvesSection(props: {
  series: readonly ComparedSeries[];
  part: string;
  axis: (typeof AXES)[number];
  isLog: boolean;
  onAxis: (axis: (typeof AXES)[number]) => void;
  onLog: (isLog: boolean) => void;
}): ReactElement {
  const { series, part, axis, isLog, onAxis, onLog } = props;
  const columns = useColumns();
  const [count, setCount] = useState(PAGE);
  const [group] = useState(() => new ChartGroup());
  const charts = useMemo(() => chartsOf(series, columns), [series, columns]);
  const shown = charts.filter(({ key }) => hasPart(key, part));
  const settings = useMemo(() => ({ ...PLAIN, axis, isLogY: isLog }), [axis, isLog]);
  return (
    <section className={classes.section}>
      <h2>
        Curves
        <span className={classes.said}>
          {charts.length === 0 ? "no run has logged any" : wholeNumber(shown.length)}
        </span>
        <span className={classes.rest} />
        <Switch
          label="Logarithmic"
          checked={isLog}
          onChange={(event) => {
            onLog(event.currentTarget.checked);
          }}
        />
        <SegmentedControl
          aria-label="Over what"
          value={axis}
          data={[
            { value: "step", label: "step" },
            { value: "run_time", label: "run time" },
            { value: "time", label: "time" },
          ]}
          onChange={onAxis}
        />
      </h2>
      <ChartGroupProvider value={group}>
        <div className={classes.charts}>
          {shown.slice(0, count).map(({ key, lines }) => (
            <div key={key} className={classes.chart}>
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
      return [
        {
          id: `${column.run.id} ${name}`,
          name:
            name === one.key ? nameOf(column.run) : `${nameOf(column.run)} ${labelsText(summary)}`,
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
