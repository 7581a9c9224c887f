/** The drawing of a chart: a canvas that is looked at with a pointer or with keys. */
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useId, useMemo, useRef, useState, type ReactElement } from "react";
import { Frame, type Colours, type Gestures, type Picture } from "@/charts/frame";
import type { ChartGroup } from "@/charts/group";
import classes from "@/charts/plot.module.css";
import type { Axis } from "@/charts/reading";
import type { Range } from "@/charts/scales";
import { shareOf, type DrawnLine, type View } from "@/charts/scene";
import { steer } from "@/charts/steering";
import { Told } from "@/charts/told";
import { followTouches, pinched, type Pair } from "@/charts/touches";
import { Throttle } from "@/state/throttle";

/** While fingers move, the points of a zoom are asked for so often. */
const PINCH_MS = 80;

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

interface PlotProps {
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
  const chart = useId();
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
        group.pointAt(null, chart);
        group.zoomTo(seen);
      },
      onPoint: (at) => {
        group.pointAt(at === null ? null : place(at), chart);
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
        group.pointAt(place(Math.max(0, Math.min(1, share))), chart);
      },
      onBegin: () => {
        begun = latest.current.view.x;
        group.pointAt(null, chart);
      },
      onMove: (pairs) => {
        fingers = pairs;
        pinch.ask();
      },
    });
    return () => {
      // A chart that is scrolled away is pointed at no more.
      group.pointAt(null, chart);
      leave();
      pinch.end();
      observer.disconnect();
      made.destroy();
      frame.current = null;
    };
  }, [group, chart, height, hasLabel]);

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
          steer(event, { ...props, chart });
        }}
        onBlur={() => {
          group.pointAt(null, chart);
        }}
      />
      <Told {...props} {...{ chart, plotBox }} />
    </div>
  );
}

function describe({ name, axis, lines }: PlotProps): string {
  const count = lines.length === 1 ? "one line" : `${lines.length} lines`;
  return (
    `Chart of ${name} over ${axis === "step" ? "steps" : axis}, ${count}. Left and right go along the points, ` +
    "with shift they move the part that is seen; plus and minus zoom, 0 shows all."
  );
}
