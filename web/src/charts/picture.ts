/** From lines and settings to what a chart shows, and what it has to say of what it cannot show. */
import { lineColour, type Scheme } from "@/base/colours";
import { shortNumber, wholeNumber } from "@/base/numbers";
import { axisName, axisTicks } from "@/charts/axes";
import { entriesIn, type CurveData } from "@/charts/columns";
import {
  addCounts,
  clippedExtent,
  countNonfinite,
  countOutside,
  countPoints,
  countWithoutPlace,
  NOTHING,
  valueExtent,
  type Counted,
} from "@/charts/extent";
import type { LoadedLine } from "@/charts/following";
import type { Colours, Picture } from "@/charts/frame";
import { LINEAR, LOG, padded, type Range } from "@/charts/scales";
import { lineShapes, type DrawnLine, type View } from "@/charts/scene";
import type { ChartSettings } from "@/charts/settings";
import { averageBefore, NO_AVERAGE, smooth } from "@/charts/smoothing";
import { linearTicks, logTicks, unitOf } from "@/charts/ticks";

export interface Look {
  readonly settings: ChartSettings;
  readonly seen: Range | null;
  readonly scheme: Scheme;
  /** The line that is looked at; the others are faint. */
  readonly focus: string | null;
}

/** Returns the stretch of the axis that lines have points on; null where there is none. */
export function wholeExtent(lines: readonly CurveData[], isLog: boolean): Range | null {
  let low = Infinity;
  let high = -Infinity;
  for (const data of lines) {
    if (data.length === 0) continue;
    const end = data.lastX[data.length - 1] as number;
    const start = isLog ? data.lastX.find((x) => x > 0) : data.firstX[0];
    if (start === undefined || (isLog && end <= 0)) continue;
    low = Math.min(low, isLog ? Math.max(start, Math.min(end, firstPositive(data))) : start);
    high = Math.max(high, end);
  }
  return low <= high ? [low, high] : null;
}

function firstPositive(data: CurveData): number {
  return data.firstX.find((x) => x > 0) ?? Infinity;
}

/** Returns the lines with their averages, in their colours. */
export function drawnLines(lines: readonly LoadedLine[], look: Look): DrawnLine[] {
  const { smoothing } = look.settings;
  return lines.flatMap(({ source, data, overview }) => {
    if (data === null) return [];
    const isPart = overview !== null && overview !== data && data.length > 0;
    const before = isPart
      ? averageBefore(overview, smoothing, data.firstStep[0] as number)
      : NO_AVERAGE;
    return [
      {
        name: source.name,
        colour: lineColour(source.colour, look.scheme),
        data,
        smoothed: smoothing > 0 ? smooth(data, smoothing, before) : null,
        isFaint: look.focus !== null && look.focus !== source.id,
      },
    ];
  });
}

/** Returns which part of the plane is seen; null where no line has a point. */
export function viewOf(lines: readonly DrawnLine[], look: Look): View | null {
  const { isLogX, isLogY, isClipped } = look.settings;
  const curves = lines.map(({ data }) => data);
  const xScale = isLogX ? LOG : LINEAR;
  const yScale = isLogY ? LOG : LINEAR;
  const whole = wholeExtent(curves, isLogX);
  if (whole === null) return null;
  const seen = look.seen ?? whole;
  const x: Range = [
    xScale.to(Math.max(seen[0], isLogX ? whole[0] : -Infinity)),
    xScale.to(seen[1]),
  ];
  const extent = isClipped
    ? clippedExtent(curves, seen, yScale)
    : valueExtent(curves, seen, yScale);
  const y: Range = extent === null ? [0, 1] : padded([yScale.to(extent[0]), yScale.to(extent[1])]);
  return {
    xScale,
    yScale,
    x: x[0] < x[1] ? x : padded([x[0], x[0]]),
    y,
    hasValues: extent !== null,
  };
}

/** Returns what the frame of a chart shows. */
export function pictureOf(
  lines: readonly DrawnLine[],
  view: View,
  about: { settings: ChartSettings; name: string; colours: Colours },
): Picture {
  const { axis } = about.settings;
  return {
    x: view.x,
    y: view.y,
    xTicks: (countMax) => axisTicks(axis, view.xScale, view.x, countMax),
    yTicks: (countMax) => {
      if (!view.hasValues) return [];
      return view.yScale.kind === "log"
        ? logTicks(view.y, countMax)
        : linearTicks(view.y, countMax);
    },
    xLabel: axisName(axis) + (view.xScale.kind === "log" ? ", log" : ""),
    yLabel: [unitOf(about.name), view.yScale.kind === "log" ? "log" : ""]
      .filter(Boolean)
      .join(", "),
    shapes: (box) => lineShapes(lines, view, box),
    colours: about.colours,
  };
}

/** What stands under a chart. */
interface Notes {
  /** How many points the drawing stands for, and whether each is drawn. */
  readonly points: string;
  /** What is not, or not wholly, in the drawing; each a sentence. */
  readonly missing: readonly string[];
}

/** Says how many points are behind a chart and which ones it does not show. */
export function notesOf(lines: readonly DrawnLine[], view: View | null): Notes {
  const curves = lines.map(({ data }) => data);
  const missing: string[] = [];
  const seen: Range =
    view === null
      ? [-Infinity, Infinity]
      : [view.xScale.from(view.x[0]), view.xScale.from(view.x[1])];
  const total = sum(curves.map((data) => countPoints(data, seen)));
  const isExact = curves.every((data) => isExactIn(data, seen));
  const points = `${wholeNumber(total)} ${total === 1 ? "point" : "points"}${isExact ? ", exact" : ", in buckets of min to max"}`;
  if (view === null) return { points, missing };
  const shown: Range = [view.yScale.from(view.y[0]), view.yScale.from(view.y[1])];
  const without = all(curves.map((data) => countWithoutPlace(data, seen, view.yScale)));
  if (without.count > 0) missing.push(`${counted(without)} ≤ 0: not on a log axis`);
  const outside = all(curves.map((data) => countOutside(data, seen, shown)));
  const clipped = { ...outside, count: outside.count - without.count };
  if (clipped.count > 0) missing.push(`${counted(clipped)} outside the clipped range`);
  if (view.xScale.kind === "log") {
    const left = sum(curves.map((data) => countPoints(data, [-Infinity, 0])));
    if (left > 0) missing.push(`${wholeNumber(left)} at or left of 0: not on a log axis`);
  }
  const nonfinite = curves.map((data) => countNonfinite(data, seen));
  const words = [
    [sum(nonfinite.map(({ nans }) => nans)), "NaN ×"],
    [sum(nonfinite.map(({ plusInfinities }) => plusInfinities)), "+∞ ▲"],
    [sum(nonfinite.map(({ minusInfinities }) => minusInfinities)), "−∞ ▼"],
  ] as const;
  for (const [count, word] of words) if (count > 0) missing.push(`${wholeNumber(count)} ${word}`);
  const withoutX = sum(curves.map((data) => data.withoutX));
  if (withoutX > 0) missing.push(`${wholeNumber(withoutX)} without a place on this axis`);
  const leftOut = sum(curves.map((data) => data.leftOut));
  if (leftOut > 0) {
    missing.push(`the oldest ${wholeNumber(leftOut)} left out: too many but over steps`);
  }
  const pruned = curves.filter((data) => data.pruned !== null).length;
  if (pruned > 0) missing.push(`older points of ${pruned} deleted by retention`);
  return { points, missing };
}

function isExactIn(data: CurveData, seen: Range): boolean {
  const [start, stop] = entriesIn(data, seen[0], seen[1]);
  return data.isExact || countPoints(data, seen) === stop - start;
}

function all(counts: readonly Counted[]): Counted {
  return counts.reduce(addCounts, NOTHING);
}

function counted({ count, isAtLeast }: Counted): string {
  return `${isAtLeast ? "at least " : ""}${wholeNumber(count)}`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Tells an entry of a curve: its value, or what its points span. */
export function entryText(data: CurveData, at: number): string {
  const count = data.count[at] as number;
  const first = data.first[at] as number;
  if (count === 1) return shortNumber(first);
  const low = data.low[at] as number;
  const nonfinite = [
    [data.nans[at] as number, "NaN"],
    [data.plusInfinities[at] as number, "+∞"],
    [data.minusInfinities[at] as number, "−∞"],
  ] as const;
  const words = nonfinite.flatMap(([many, word]) =>
    many > 0 ? [`${wholeNumber(many)} ${word}`] : [],
  );
  const span = Number.isNaN(low) ? [] : [`${shortNumber(low)} … ${shortNumber(data.high[at])}`];
  return [...span, ...words].join(", ");
}

/** Tells which steps an entry stands for. */
export function entrySteps(data: CurveData, at: number): string {
  const first = wholeNumber(data.firstStep[at] as number);
  const count = data.count[at] as number;
  if (count === 1) return `step ${first}`;
  return `${wholeNumber(count)} points, steps ${first} to ${wholeNumber(data.lastStep[at] as number)}`;
}
