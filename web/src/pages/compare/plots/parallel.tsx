/** Parallel coordinates: an axis for each field, a line for each run through its values. */
import { useComputedColorScheme } from "@mantine/core";
import type { ReactElement } from "react";
import { lineColour } from "@/base/colours";
import { nameOf, type Column } from "@/pages/compare/columns";
import type { Axis } from "@/pages/compare/plots/axis";
import { pathOf, shortened } from "@/pages/compare/plots/paths";
import classes from "@/pages/compare/plots/plots.module.css";

export const PARALLEL = { height: 320, top: 40, bottom: 16, side: 72 } as const;
const LABEL_PIXELS = 6.2;

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
  const letters = Math.max(8, Math.floor((step === 0 ? width : step) / LABEL_PIXELS) - 1);
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
            {shortened(axis.field.label, letters)}
            <title>{axis.field.label}</title>
          </text>
          {axis.isLog && (
            <text className={classes.tick} textAnchor="middle" y={30}>
              log
            </text>
          )}
          <line className={classes.frame} y1={top} y2={height - bottom} />
          {axis.ticks.map((tick, index) => (
            <g key={index} transform={`translate(0, ${tick.at})`}>
              <line className={classes.frame} x1={-4} />
              <text className={classes.tick} x={-8} dy="0.32em" textAnchor="end">
                {shortened(tick.text, 11)}
              </text>
            </g>
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
            <title>{nameOf(column.run)}</title>
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
    </svg>
  );
}
