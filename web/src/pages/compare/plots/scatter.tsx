/** A point for each run over two fields, with its name beside it. */
import { useComputedColorScheme } from "@mantine/core";
import type { ReactElement } from "react";
import { lineColour } from "@/base/colours";
import type { Column } from "@/pages/compare/columns";
import { shortName, wholeName } from "@/pages/compare/names";
import type { Axis } from "@/pages/compare/plots/axis";
import { labelPlaces } from "@/pages/compare/plots/labels";
import { lettersOf, shortened } from "@/pages/compare/plots/paths";
import classes from "@/pages/compare/plots/plots.module.css";

export const SCATTER = { height: 360, top: 12, bottom: 44, left: 88, right: 24 } as const;
const LABEL_LETTERS = 24;
const LETTER_PIXELS = 6.2;

export function Scatter(props: {
  x: Axis;
  y: Axis;
  columns: readonly Column[];
  width: number;
  focus: string | null;
  onFocus: (run: string | null) => void;
}): ReactElement {
  const { x, y, columns, width, focus, onFocus } = props;
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const { height, top, bottom, left, right } = SCATTER;
  const points = columns.flatMap((column, run) => {
    const [across, up] = [x.places[run] ?? null, y.places[run] ?? null];
    return across === null || up === null ? [] : [{ column, across, up }];
  });
  const names = points.map(({ column }) => shortName(column, LABEL_LETTERS));
  const places = labelPlaces(
    points.map(({ across, up }, at) => ({
      x: across,
      y: up,
      width: lettersOf(names[at] ?? "").length * LETTER_PIXELS,
    })),
    { left: left + 4, right: width - 4, top, bottom: height - bottom - 2 },
  );
  return (
    <svg
      className={classes.plot}
      width={width}
      height={height}
      role="img"
      aria-label={`${y.field.label} over ${x.field.label}, a point for each run`}
      data-focus={focus !== null}
    >
      {y.ticks.map((tick, at) => (
        <g key={at} transform={`translate(${left}, ${tick.at})`}>
          <line className={classes.grid} x2={width - left - right} />
          <text className={classes.tick} x={-8} dy="0.32em" textAnchor="end">
            {shortened(tick.text, 12)}
          </text>
        </g>
      ))}
      {x.ticks.map((tick, at) => (
        <g key={at} transform={`translate(${tick.at}, ${height - bottom})`}>
          <line className={classes.grid} y2={top + bottom - height} />
          <text className={classes.tick} y={16} textAnchor="middle">
            {shortened(tick.text, 10)}
          </text>
        </g>
      ))}
      <line
        className={classes.frame}
        x1={left}
        x2={width - right}
        y1={height - bottom}
        y2={height - bottom}
      />
      <line className={classes.frame} x1={left} x2={left} y1={top} y2={height - bottom} />
      <text
        className={classes.title}
        x={(left + width - right) / 2}
        y={height - 8}
        textAnchor="middle"
      >
        {shortened(x.field.label, 60)}
        {x.isLog && " (log)"}
        <title>{x.field.label}</title>
      </text>
      <text
        className={classes.title}
        transform={`translate(14, ${(top + height - bottom) / 2}) rotate(-90)`}
        textAnchor="middle"
      >
        {shortened(y.field.label, 44)}
        {y.isLog && " (log)"}
        <title>{y.field.label}</title>
      </text>
      {points.map(({ column, across, up }, at) => (
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
          <circle cx={across} cy={up} r={5} fill={lineColour(column.colour, scheme)} />
          <text className={classes.label} x={places[at]?.x} y={places[at]?.y} dy="0.32em">
            {names[at]}
          </text>
        </g>
      ))}
    </svg>
  );
}
