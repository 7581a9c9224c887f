/** The drawing of a chart: a canvas that is looked at with a pointer or with keys. */
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactElement } from "react";
import { shortNumber, wholeNumber } from "@/base/numbers";
import { placeText } from "@/charts/axes";
import { nearestEntry } from "@/charts/columns";
import { Frame, type Colours, type Gestures, type Picture } from "@/charts/frame";
import { useHover, type ChartGroup } from "@/charts/group";
import { entrySteps, entryText } from "@/charts/picture";
import classes from "@/charts/plot.module.css";
import { panned, zoomed, type Range } from "@/charts/scales";
import type { DrawnLine, View } from "@/charts/scene";
import type { Axis } from "@/charts/reading";
import { followTouches, pinched, type Pair } from "@/charts/touches";
import { Throttle } from "@/state/throttle";

const ZOOM = 0.5;
const PAN = 0.25;
/** While fingers move, the points of a zoom are asked for so often. */
const PINCH_MS = 80;
/** More values than this hide the drawing behind them. */
const TOLD_MAX = 12;

/** Reads the colours of the theme from the tokens of the page. */
function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  const token = (name: string): string => style.getPropertyValue(name).trim();
  return {
    text: token("--text"),
    dim: token("--text-dim"),
    grid: token("--grid"),
    border: token("--border-control"),
    surface: token("--surface"),
    face: style.fontFamily,
  };
}

/** Returns the colours of the theme, and others when it changes. */
export function useColours(): Colours {
  const scheme = useComputedColorScheme("light");
  return useMemo(() => coloursOf(document.body), [scheme]); // eslint-disable-line react-hooks/exhaustive-deps -- the tokens follow the scheme
}

export interface PlotProps {
  readonly name: string;
  readonly axis: Axis;
  readonly lines: readonly DrawnLine[];
  readonly view: View;
  readonly picture: Picture;
  /** All that the axis has; zooming stays inside. */
  readonly whole: Range;
  readonly height: number;
  readonly group: ChartGroup;
}

export function Plot(props: PlotProps): ReactElement {
  const { view, picture, height, group } = props;
  const host = useRef<HTMLDivElement>(null);
  const frame = useRef<Frame | null>(null);
  const { whole } = props;
  const latest = useRef({ view, picture, whole });
  // A frame has room for a label from its beginning, or has none.
  const hasLabel = picture.yLabel !== "";
  const [isPointed, setIsPointed] = useState(false);
  // A pointer that leaves does not take away what the keys point at.
  const [isSteered, setIsSteered] = useState(false);
  const [plotBox, setPlotBox] = useState({ left: 0, width: 1 });

  useEffect(() => {
    latest.current = { view, picture, whole };
    frame.current?.show(picture);
    frame.current?.pointAt(shareOf(group.hover, view));
  }, [view, picture, whole, group]);

  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const place = (share: number): number => {
      const { x, xScale } = latest.current.view;
      return xScale.from(x[0] + share * (x[1] - x[0]));
    };
    const gestures: Gestures = {
      onSelect: (from, to) => {
        const seen: Range = [place(from), place(to)];
        // What the pointer stood at lies elsewhere then.
        group.pointAt(null);
        group.zoomTo(seen);
      },
      onPoint: (at) => {
        setIsPointed(at !== null);
        group.pointAt(at === null ? null : place(at));
      },
      onReset: () => {
        group.zoomTo(null);
      },
    };
    let begun: Range = latest.current.view.x;
    let fingers: { from: Pair; to: Pair } | null = null;
    const pinch = new Throttle(PINCH_MS, () => {
      if (fingers === null) return;
      const { xScale } = latest.current.view;
      const limits: Range = [
        xScale.to(latest.current.whole[0]),
        xScale.to(latest.current.whole[1]),
      ];
      const [low, high] = pinched(begun, fingers, limits);
      const isAll = high - low >= limits[1] - limits[0];
      group.zoomTo(isAll ? null : [xScale.from(low), xScale.from(high)]);
    });
    const size = { width: Math.max(80, element.clientWidth), height };
    const made = new Frame(element, size, latest.current.picture, gestures);
    frame.current = made;
    const noteBox = (): void => {
      setPlotBox({ left: made.box.left, width: made.box.width });
    };
    const observer = new ResizeObserver(() => {
      const width = Math.max(80, element.clientWidth);
      made.resize({ width, height });
      noteBox();
    });
    observer.observe(element);
    const leave = followTouches(element, {
      box: () => made.box,
      onPoint: (share) => {
        setIsPointed(true);
        group.pointAt(place(Math.max(0, Math.min(1, share))));
      },
      onBegin: () => {
        begun = latest.current.view.x;
        group.pointAt(null);
      },
      onMove: (pairs) => {
        fingers = pairs;
        pinch.ask();
      },
    });
    return () => {
      leave();
      pinch.end();
      observer.disconnect();
      made.destroy();
      frame.current = null;
    };
  }, [group, height, hasLabel]);

  useEffect(() => {
    return group.onHover(() => {
      frame.current?.pointAt(shareOf(group.hover, latest.current.view));
    });
  }, [group]);

  return (
    <div className={classes.plot}>
      <div
        ref={host}
        className={classes.host}
        tabIndex={0}
        role="application"
        aria-label={describe(props)}
        onKeyDown={(event) => {
          if (steer(event, props)) setIsSteered(true);
        }}
        onBlur={() => {
          setIsSteered(false);
          group.pointAt(null);
        }}
      />
      {(isPointed || isSteered) && <Told {...props} plotBox={plotBox} />}
    </div>
  );
}

/** Returns how far along the seen part of the axis a place lies; null where it has none. */
function shareOf(place: number | null, { x, xScale }: View): number | null {
  const at = place === null ? NaN : xScale.to(place);
  return Number.isFinite(at) ? (at - x[0]) / (x[1] - x[0]) : null;
}

function describe({ name, axis, lines }: PlotProps): string {
  const count = lines.length === 1 ? "one line" : `${lines.length} lines`;
  return (
    `Chart of ${name} over ${axis === "step" ? "steps" : axis}, ${count}. Left and right go along the points, ` +
    "with shift they move the part that is seen; plus and minus zoom, 0 shows all."
  );
}

/** Does what a key asks for, the same as the pointer, and returns whether it asks for anything. */
function steer(event: KeyboardEvent, props: PlotProps): boolean {
  const { group, view, whole, lines } = props;
  const seen: Range = [view.xScale.from(view.x[0]), view.xScale.from(view.x[1])];
  const middle = (seen[0] + seen[1]) / 2;
  const around =
    group.hover !== null && group.hover >= seen[0] && group.hover <= seen[1] ? group.hover : middle;
  const side = event.key === "ArrowLeft" ? -1 : 1;
  switch (event.key) {
    case "ArrowLeft":
    case "ArrowRight":
      if (event.shiftKey) group.zoomTo(panned(seen, side * PAN, whole));
      else group.pointAt(nextPlace(lines, group.hover, { side, seen }));
      break;
    case "Home":
      group.pointAt(seen[0]);
      break;
    case "End":
      group.pointAt(seen[1]);
      break;
    case "+":
    case "=":
      group.zoomTo(zoomed(seen, around, ZOOM, whole));
      break;
    case "-":
      group.zoomTo(zoomed(seen, around, 1 / ZOOM, whole));
      break;
    case "0":
      group.zoomTo(null);
      break;
    case "Escape":
      if (group.hover === null) return false;
      group.pointAt(null);
      break;
    default:
      return false;
  }
  event.preventDefault();
  event.stopPropagation();
  return true;
}

/** Returns the nearest place on one side where a line has an entry. */
function nextPlace(
  lines: readonly DrawnLine[],
  from: number | null,
  { side, seen }: { side: number; seen: Range },
): number {
  if (from === null) return side > 0 ? seen[0] : seen[1];
  let best = NaN;
  for (const { data } of lines) {
    const at = nearestEntry(data, from);
    for (const entry of [at - 1, at, at + 1]) {
      if (entry < 0 || entry >= data.length) continue;
      const place = data.lastX[entry] as number;
      const isFurther = side > 0 ? place > from : place < from;
      const isNearer = Number.isNaN(best) || Math.abs(place - from) < Math.abs(best - from);
      if (isFurther && isNearer && place >= seen[0] && place <= seen[1]) best = place;
    }
  }
  return Number.isNaN(best) ? from : best;
}

/** The values where one points, beside the pointer. */
function Told(
  props: PlotProps & { plotBox: { left: number; width: number } },
): ReactElement | null {
  const { axis, lines, view, group, plotBox } = props;
  const hover = useHover(group);
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
        {told.map(({ line, at }) => (
          <li key={line.name}>
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
