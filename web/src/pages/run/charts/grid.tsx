/** The charts in rows; only those near to what is seen are there. */
import { ActionIcon } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useMemo, useRef, useState, type ReactElement } from "react";
import { CurveChart } from "@/charts/curve_chart";
import type { ChartSettings } from "@/charts/settings";
import { symbols } from "@/charts/symbols";
import type { ChartOfKey } from "@/pages/run/charts/charts";
import classes from "@/pages/run/charts/charts.module.css";

const CHART_WIDTH_MIN = 380;
/** Name, drawing, what it has to say, and the head of the legend. */
const CHART_HEIGHT = 290;
const LINE_HEIGHT = 24;
/** More lines are scrolled; the last one in sight is cut, which says so. */
const LINES_SEEN = 3.5;
const GAP = 8;

interface GridProps {
  readonly charts: readonly ChartOfKey[];
  readonly settings: ChartSettings;
  readonly pins: readonly string[];
  readonly onPin: (key: string) => void;
  readonly onMove: (key: string, by: -1 | 1) => void;
  readonly onFull: (key: string) => void;
}

export function Grid(props: GridProps): ReactElement {
  const { charts } = props;
  const host = useRef<HTMLDivElement>(null);
  const { ref, width } = useElementSize();
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const element = host.current;
    if (element !== null) setTop(element.getBoundingClientRect().top + window.scrollY);
  }, [width]);
  // Fewer charts than have room are wider.
  const room = Math.max(1, Math.floor((width + GAP) / (CHART_WIDTH_MIN + GAP)));
  const columns = Math.max(1, Math.min(room, charts.length));
  const heights = useMemo(() => heightsOf(charts, columns), [charts, columns]);
  const rows = useWindowVirtualizer({
    count: heights.length,
    estimateSize: (at) => (heights[at] ?? CHART_HEIGHT) + GAP,
    overscan: 1,
    scrollMargin: top,
  });
  useLayoutEffect(() => {
    rows.measure();
  }, [rows, heights]);
  const merged = useMergedRef(host, ref);
  return (
    <div ref={merged} className={classes.rows} style={{ height: rows.getTotalSize() }}>
      {width > 0 &&
        rows.getVirtualItems().map((row) => (
          <div
            key={row.key}
            className={classes.row}
            style={{
              height: heights[row.index],
              gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
              transform: `translateY(${row.start - top}px)`,
            }}
          >
            {charts.slice(row.index * columns, (row.index + 1) * columns).map((chart) => (
              <Card key={chart.key} chart={chart} {...props} />
            ))}
          </div>
        ))}
    </div>
  );
}

/** Returns how high each row of charts is: a row of short legends takes no more than they need. */
function heightsOf(charts: readonly ChartOfKey[], columns: number): number[] {
  const heights: number[] = [];
  for (let at = 0; at < charts.length; at += columns) {
    const lines = charts.slice(at, at + columns).map((chart) => chart.lines.length);
    heights.push(CHART_HEIGHT + LINE_HEIGHT * Math.min(Math.max(...lines), LINES_SEEN));
  }
  return heights;
}

function Card(props: GridProps & { chart: ChartOfKey }): ReactElement {
  const { chart, settings, pins, onPin, onMove, onFull } = props;
  const { key } = chart;
  const place = pins.indexOf(key);
  const isPinned = place >= 0;
  return (
    <CurveChart
      name={key}
      lines={chart.lines}
      settings={settings}
      onFull={() => {
        onFull(key);
      }}
      actions={
        <>
          {isPinned && place > 0 && (
            <ActionIcon
              size="sm"
              aria-label={`Move ${key} forward`}
              title="Move forward"
              onClick={() => {
                onMove(key, -1);
              }}
            >
              {symbols.forward}
            </ActionIcon>
          )}
          {isPinned && place < pins.length - 1 && (
            <ActionIcon
              size="sm"
              aria-label={`Move ${key} back`}
              title="Move back"
              onClick={() => {
                onMove(key, 1);
              }}
            >
              {symbols.back}
            </ActionIcon>
          )}
          <ActionIcon
            size="sm"
            aria-label={isPinned ? `Unpin ${key}` : `Pin ${key}`}
            aria-pressed={isPinned}
            title={isPinned ? "Unpin" : "Pin: it stands first"}
            variant={isPinned ? "light" : "subtle"}
            onClick={() => {
              onPin(key);
            }}
          >
            {symbols.pin}
          </ActionIcon>
        </>
      }
    />
  );
}
