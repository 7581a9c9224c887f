/** Parallel coordinates: an axis for each field, a line for each run through its values. */
import { useComputedColorScheme } from "@mantine/core";
import type { ReactElement } from "react";
import { lineColour } from "@/base/colours";
import type { Column } from "@/pages/compare/columns";
import { wholeName } from "@/pages/compare/names";
import type { Axis } from "@/pages/compare/plots/axis";
import { pathOf, shortened } from "@/pages/compare/plots/paths";
import classes from "@/pages/compare/plots/plots.module.css";

export const PARALLEL = { height: 320, top: 40, bottom: 16, side: 88 } as const;
const LABEL_PIXELS = 6.4;

export function Parallel(props: {
  axes: readonly Axis[];
  columns: readonly Column[];
  width: number;
  /** The run that is pointed at. */
  focus: string | null;
  onFocus: (run: string | null) => void;
}): ReactElement {
  const { axes, columns, width, focus, onFocus } = props;
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const { height, top, bottom, side } = PARALLEL;
  const step = axes.length < 2 ? 0 : (width - 2 * side) / (axes.length - 1);
  const xs = axes.map((_, at) => side + at * step);
  return (
    <svg
      className={classes.plot}
      width={width}
      height={height}
      role="img"
      aria-label={`Parallel coordinates of ${axes.map(({ field }) => field.label).join(", ")}`}
      data-focus={focus !== null}
    >
      {axes.map((axis, at) => (
        <g key={axis.field.name} transform={`translate(${xs[at] ?? 0}, 0)`}>
          <text className={classes.title} textAnchor="middle" y={16}>
            {shortened(axis.field.label, lettersAt(at, axes.length, step))}
            <title>{axis.field.label}</title>
          </text>
          {axis.isLog && (
            <text className={classes.tick} textAnchor="middle" y={30}>
              log
            </text>
          )}
          <line className={classes.frame} y1={top} y2={height - bottom} />
          {axis.ticks.map((tick, index) => (
            <line
              key={index}
              className={classes.frame}
              x1={-4}
              transform={`translate(0, ${tick.at})`}
            />
          ))}
        </g>
      ))}
      {columns.map((column, run) => {
        const colour = lineColour(column.colour, scheme);
        const points = axes.map((axis, at) => {
          const y = axis.places[run] ?? null;
          return y === null ? null : ([xs[at] ?? 0, y] as const);
        });
        return (
          <g
            key={column.run.id}
            className={classes.run}
            data-focused={focus === column.run.id}
            onPointerEnter={() => {
              onFocus(column.run.id);
            }}
            onPointerLeave={() => {
              onFocus(null);
            }}
          >
            <title>{wholeName(column)}</title>
            <path className={classes.line} d={pathOf(points)} stroke={colour} />
            {points.map(
              (point, at) =>
                point !== null && (
                  <circle key={at} cx={point[0]} cy={point[1]} r={3.5} fill={colour} />
                ),
            )}
          </g>
        );
      })}
      {/* Over the lines: a number that a line goes through is not read. */}
      <g className={classes.over}>
        {axes.map((axis, at) =>
          axis.ticks.map((tick, index) => (
            <text
              key={`${axis.field.name} ${String(index)}`}
              className={classes.tick}
              x={(xs[at] ?? 0) - 8}
              y={tick.at}
              dy="0.32em"
              textAnchor="end"
            >
              {shortened(tick.text, 11)}
            </text>
          )),
        )}
      </g>
    </svg>
  );
}

/** Returns how many letters the label of an axis has room for, its middle above the axis. */
function lettersAt(at: number, count: number, step: number): number {
  const isOuter = at === 0 || at === count - 1;
  const room = isOuter ? Math.min(2 * PARALLEL.side, step === 0 ? Infinity : step) : step;
  return Math.max(8, Math.floor(room / LABEL_PIXELS) - 1);
}
