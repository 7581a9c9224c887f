/** The spans of a run over time: a lane for each stream, rank and thread, nested spans below each other. */
import { Button } from "@mantine/core";
import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactElement,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { AXIS_HEIGHT, draw, inksOf, LANE_HEIGHT, placesOf, ROW_HEIGHT } from "@/timeline/drawing";
import { SpanFacts } from "@/timeline/facts";
import type { Spans } from "@/timeline/spans";
import classes from "@/timeline/timeline.module.css";
import { clampView, moved, spanAt, type View, zoomed } from "@/timeline/view";
import { spanTowards, type Way } from "@/timeline/walking";

const ZOOM = 1.25;
/** Of the width, for one press of a key. */
const STEP = 0.15;
const HIT_PIXELS = 3;
const WAYS: Record<string, Way> = {
  ArrowLeft: "before",
  ArrowRight: "behind",
  ArrowUp: "around",
  ArrowDown: "inside",
};

interface Props {
  spans: Spans;
  /** What is in sight; null: all. */
  view: View | null;
  onView: (view: View | null) => void;
  /** The path whose spans stand out. */
  path: string | null;
}

export function Timeline(props: Props): ReactElement {
  const { spans, onView, path } = props;
  const whole = useMemo(() => clampView({ from: 0, to: spans.length }, spans.length), [spans]);
  const view = props.view === null ? whole : clampView(props.view, spans.length);
  const scheme = useComputedColorScheme("light");
  const { ref: box, width } = useElementSize<HTMLDivElement>();
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [scroll, setScroll] = useState(0);
  const [hovered, setHovered] = useState<number | null>(null);
  const [chosen, setChosen] = useState<number | null>(null);
  const drag = useRef<{ x: number; view: View; hasMoved: boolean } | null>(null);
  const places = useMemo(() => placesOf(spans), [spans]);
  const last = places.at(-1);
  const total = AXIS_HEIGHT + (last === undefined ? 0 : last.top + last.height);
  const height = Math.min(total, 560);
  const pathNumber = path === null ? -1 : spans.paths.indexOf(path);

  useEffect(() => {
    const place = canvas.current;
    const context = place?.getContext("2d");
    if (place == null || context == null || width === 0) return;
    const ratio = window.devicePixelRatio;
    place.width = Math.round(width * ratio);
    place.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const look = {
      width,
      height,
      scroll,
      view,
      scheme,
      chosen: hovered ?? chosen,
      path: pathNumber < 0 ? null : pathNumber,
    };
    draw(context, spans, places, look, inksOf(place));
  }, [spans, places, width, height, scroll, view, scheme, hovered, chosen, pathNumber]);

  const show = (next: View): void => {
    const clamped = clampView(next, spans.length);
    const isWhole = clamped.from <= whole.from && clamped.to >= whole.to;
    onView(isWhole ? null : clamped);
  };
  const momentAt = (x: number): number => view.from + (x / width) * (view.to - view.from);
  const zoom = (factor: number, at = (view.from + view.to) / 2): void => {
    show(zoomed(view, at, factor));
  };
  /** The wheel is heard as it is: React hears it passively, and then the page would zoom as well. */
  const onWheel = useRef<(event: WheelEvent) => void>(() => undefined);
  useEffect(() => {
    onWheel.current = (event) => {
      const across = event.shiftKey ? event.deltaY : event.deltaX;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        const left = canvas.current?.getBoundingClientRect().left ?? 0;
        zoom(event.deltaY > 0 ? ZOOM : 1 / ZOOM, momentAt(event.clientX - left));
      } else if (Math.abs(across) > 0 && Math.abs(across) >= Math.abs(event.deltaY) / 2) {
        event.preventDefault();
        show(moved(view, (across / width) * (view.to - view.from)));
      }
    };
  });
  useEffect(() => {
    const place = scroller.current;
    const hear = (event: WheelEvent): void => {
      onWheel.current(event);
    };
    place?.addEventListener("wheel", hear, { passive: false });
    return () => place?.removeEventListener("wheel", hear);
  }, []);

  const spanUnder = (event: PointerEvent): number | null => {
    const edges = canvas.current?.getBoundingClientRect();
    if (edges === undefined) return null;
    const y = event.clientY - edges.top - AXIS_HEIGHT + scroll;
    const place = places.find(({ top, height: tall }) => top <= y && y < top + tall);
    if (place === undefined || event.clientY - edges.top < AXIS_HEIGHT) return null;
    const row =
      spans.lanes[place.lane]?.rows[Math.floor((y - place.top - LANE_HEIGHT) / ROW_HEIGHT)];
    const slack = (HIT_PIXELS / width) * (view.to - view.from);
    if (row === undefined) return null;
    const moment = momentAt(event.clientX - edges.left);
    return spanAt(spans, row, moment, 0) ?? spanAt(spans, row, moment, slack);
  };

  const look = (index: number): void => {
    setChosen(index);
    const from = spans.start[index] ?? 0;
    const to = spans.end[index] ?? 0;
    if (to < view.from || from > view.to) {
      const half = (view.to - view.from) / 2;
      show({ from: (from + to) / 2 - half, to: (from + to) / 2 + half });
    }
    const place = places[spans.lane[index] ?? 0];
    if (place === undefined || scroller.current === null) return;
    const top = place.top + LANE_HEIGHT + (spans.depth[index] ?? 0) * ROW_HEIGHT;
    const room = height - AXIS_HEIGHT;
    if (top < scroll || top + ROW_HEIGHT > scroll + room) {
      scroller.current.scrollTop = Math.max(0, top - room / 2);
    }
  };
  const zoomTo = (index: number): void => {
    const from = spans.start[index] ?? 0;
    const length = (spans.end[index] ?? 0) - from;
    show({ from: from - length * 0.05, to: from + length * 1.05 });
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const way = WAYS[event.key];
    const by = (view.to - view.from) * STEP;
    if (way !== undefined) {
      const next = spanTowards(spans, chosen, way);
      if (next !== null) look(next);
    } else if (event.key === "+" || event.key === "=" || event.key === "w") zoom(1 / ZOOM);
    else if (event.key === "-" || event.key === "s") zoom(ZOOM);
    else if (event.key === "a") show(moved(view, -by));
    else if (event.key === "d") show(moved(view, by));
    else if (event.key === "0" || event.key === "Home") onView(null);
    else if (event.key === "Enter" && chosen !== null) zoomTo(chosen);
    else if (event.key === "Escape") setChosen(null);
    else return;
    event.preventDefault();
  };

  const shown = hovered ?? chosen;
  return (
    <div ref={box}>
      <div className={classes.bar}>
        <Button.Group>
          <Button
            variant="default"
            aria-label="Zoom in"
            onClick={() => {
              zoom(1 / ZOOM / ZOOM);
            }}
          >
            +
          </Button>
          <Button
            variant="default"
            aria-label="Zoom out"
            onClick={() => {
              zoom(ZOOM * ZOOM);
            }}
          >
            −
          </Button>
          <Button
            variant="default"
            disabled={props.view === null}
            onClick={() => {
              onView(null);
            }}
          >
            All
          </Button>
        </Button.Group>
        <span className={classes.hint} data-for="pointer">
          Drag to move, Ctrl and wheel to zoom, double-click a span to fill the width. Keys: arrows
          walk the spans, + − a d 0, Enter.
        </span>
        <span className={classes.hint} data-for="fingers">
          Drag to move, touch a span to read it.
        </span>
      </div>
      <div
        ref={scroller}
        className={classes.scroller}
        style={{ height }}
        tabIndex={0}
        role="application"
        aria-label="Timeline of spans"
        aria-describedby="span-facts"
        onScroll={(event) => {
          setScroll(event.currentTarget.scrollTop);
        }}
        onKeyDown={onKey}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          drag.current = { x: event.clientX, view, hasMoved: false };
        }}
        onPointerMove={(event) => {
          const held = drag.current;
          if (held === null || event.buttons === 0) {
            drag.current = null;
            setHovered(spanUnder(event));
            return;
          }
          const by = event.clientX - held.x;
          if (!held.hasMoved && Math.abs(by) < HIT_PIXELS) return;
          if (!held.hasMoved) event.currentTarget.setPointerCapture(event.pointerId);
          held.hasMoved = true;
          show(moved(held.view, (-by / width) * (held.view.to - held.view.from)));
        }}
        onPointerUp={(event) => {
          if (drag.current?.hasMoved === false) setChosen(spanUnder(event));
          drag.current = null;
        }}
        onPointerLeave={() => {
          setHovered(null);
        }}
        onDoubleClick={() => {
          if (hovered !== null) zoomTo(hovered);
        }}
      >
        <canvas ref={canvas} className={classes.canvas} style={{ width, height }} aria-hidden />
        <div style={{ height: Math.max(0, total - height) }} />
      </div>
      <SpanFacts id="span-facts" spans={spans} index={shown} isHeld={hovered === null} />
    </div>
  );
}
