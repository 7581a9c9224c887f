/** What a drawing has where one points at it. */
import type { ReactElement } from "react";
import { shortNumber, wholeNumber } from "@/base/numbers";
import { placeText } from "@/charts/axes";
import { nearestEntry } from "@/charts/columns";
import { useTold, type ChartGroup } from "@/charts/group";
import { entrySteps, entryText } from "@/charts/picture";
import classes from "@/charts/plot.module.css";
import type { Axis } from "@/charts/reading";
import { shareOf, type DrawnLine, type View } from "@/charts/scene";

/** More values than this hide the drawing behind them. */
const TOLD_MAX = 12;

interface ToldProps {
  readonly axis: Axis;
  readonly lines: readonly DrawnLine[];
  readonly view: View;
  readonly group: ChartGroup;
  /** The chart itself, as its group knows it. */
  readonly chart: string;
  /** Where the drawing lies in its element, in pixels. */
  readonly plotBox: { left: number; width: number };
}

/** The values where one points, beside the pointer. */
export function Told(props: ToldProps): ReactElement | null {
  const { axis, lines, view, group, chart, plotBox } = props;
  const hover = useTold(group, chart);
  if (hover === null) return null;
  const share = shareOf(hover, view);
  if (share === null || share < 0 || share > 1) return null;
  const reach = ((view.x[1] - view.x[0]) / plotBox.width) * 4;
  const found = lines.flatMap((line) => {
    const at = entryNear(line, hover, view.xScale.kind === "linear" ? reach : 0);
    return at < 0 ? [] : [{ line, at }];
  });
  const told = found.sort((a, b) => rank(b.line, b.at) - rank(a.line, a.at)).slice(0, TOLD_MAX);
  const place = nearestPlace(told, hover);
  const bucket = told.find(({ line, at }) => (line.data.count[at] as number) > 1);
  return (
    <div
      className={classes.told}
      data-side={share > 0.5 ? "left" : "right"}
      style={{ left: plotBox.left + share * plotBox.width }}
      role="status"
    >
      <p className={classes.place}>{placeText(axis, place)}</p>
      <ul>
        {told.map(({ line, at }, number) => (
          <li key={number}>
            <span className={classes.swatch} style={{ background: line.colour }} />
            <span className={classes.name}>{line.name}</span>
            <span className={classes.value}>{entryText(line.data, at)}</span>
            <span className={classes.steps}>
              {[averageText(line, at), elsewhere(line, at, { axis, place })]
                .filter(Boolean)
                .join(", ")}
            </span>
          </li>
        ))}
      </ul>
      {found.length > TOLD_MAX && <p>and {found.length - TOLD_MAX} more</p>}
      {bucket !== undefined && (
        <p className={classes.steps}>{entrySteps(bucket.line.data, bucket.at)}</p>
      )}
    </div>
  );
}

/** Returns the place of the entry that is nearest to the pointer: it is told as it was logged. */
function nearestPlace(told: readonly { line: DrawnLine; at: number }[], hover: number): number {
  let best = hover;
  let distance = Infinity;
  for (const { line, at } of told) {
    const from = line.data.firstX[at] as number;
    const to = line.data.lastX[at] as number;
    const place = Math.max(from, Math.min(hover, to));
    if (Math.abs(place - hover) < distance) {
      distance = Math.abs(place - hover);
      best = place;
    }
  }
  return best;
}

/** Tells where the average of a line stands; empty where the line has none. */
function averageText({ smoothed }: DrawnLine, at: number): string {
  return smoothed === null ? "" : `average ${shortNumber(smoothed[at])}`;
}

/** Tells the step of an entry that lies beside the place of the others, or whose place is none. */
function elsewhere(
  { data }: DrawnLine,
  at: number,
  { axis, place }: { axis: Axis; place: number },
): string {
  const isThere = (data.firstX[at] as number) <= place && place <= (data.lastX[at] as number);
  if ((data.count[at] as number) > 1 || (isThere && axis === "step")) return "";
  return `at step ${wholeNumber(data.firstStep[at] as number)}`;
}

/** Returns the entry under the pointer; one with something that is not finite goes before others. */
function entryNear({ data }: DrawnLine, place: number, reach: number): number {
  const nearest = nearestEntry(data, place);
  for (let away = 0; away < data.length; away++) {
    const around = away === 0 ? [nearest] : [nearest - away, nearest + away];
    const inReach = around.filter(
      (at) =>
        at >= 0 &&
        at < data.length &&
        Math.abs(place - ((data.firstX[at] as number) + (data.lastX[at] as number)) / 2) <= reach,
    );
    if (inReach.length === 0) break;
    const marked = inReach.find(
      (at) =>
        (data.nans[at] as number) +
          (data.plusInfinities[at] as number) +
          (data.minusInfinities[at] as number) >
        0,
    );
    if (marked !== undefined) return marked;
  }
  return nearest;
}

function rank({ data }: DrawnLine, at: number): number {
  const value = data.last[at] as number;
  return Number.isNaN(value) ? Infinity : value;
}
