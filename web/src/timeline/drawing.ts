/** Draws the part of a timeline that is in sight onto a canvas. */
import { lineColour, type Scheme } from "@/base/colours";
import { laneName, momentText, shortName, type Spans } from "@/timeline/spans";
import { eachVisible, ticksOf, type View } from "@/timeline/view";

export const AXIS_HEIGHT = 24;
export const LANE_HEIGHT = 20;
export const ROW_HEIGHT = 18;
const LANE_GAP = 8;
/** A label takes at least so much; a narrower span has none. */
const LABEL_WIDTH_MIN = 28;
const TICK_WIDTH = 110;

/** Where a lane stands, in pixels from the top of all lanes. */
interface LanePlace {
  lane: number;
  top: number;
  height: number;
}

export function placesOf(spans: Spans): LanePlace[] {
  let top = 0;
  return spans.lanes.map(({ rows }, lane) => {
    const height = LANE_HEIGHT + rows.length * ROW_HEIGHT + LANE_GAP;
    const place = { lane, top, height };
    top += height;
    return place;
  });
}

interface Look {
  width: number;
  height: number;
  /** How far the lanes are scrolled. */
  scroll: number;
  view: View;
  scheme: Scheme;
  /** The span that is looked at. */
  chosen: number | null;
  /** Spans of other paths are faint; null: none is. */
  path: number | null;
}

/** The colours of the page, read from its variables. */
interface Inks {
  surface: string;
  raised: string;
  text: string;
  dim: string;
  grid: string;
  accent: string;
  font: string;
}

export function inksOf(element: Element): Inks {
  const style = getComputedStyle(element);
  const get = (name: string): string => style.getPropertyValue(name).trim();
  return {
    surface: get("--surface"),
    raised: get("--surface-raised"),
    text: get("--text"),
    dim: get("--text-dim"),
    grid: get("--grid"),
    accent: get("--accent"),
    font: get("--font"),
  };
}

export function draw(
  canvas: CanvasRenderingContext2D,
  spans: Spans,
  places: readonly LanePlace[],
  look: Look,
  inks: Inks,
): void {
  const { width, height, scroll, view } = look;
  canvas.clearRect(0, 0, width, height);
  canvas.font = `11px ${inks.font}`;
  canvas.textBaseline = "middle";
  drawGrid(canvas, look, inks);
  for (const place of places) {
    const top = AXIS_HEIGHT + place.top - scroll;
    if (top + place.height < AXIS_HEIGHT || top > height) continue;
    const lane = spans.lanes[place.lane];
    if (lane === undefined) continue;
    canvas.fillStyle = inks.dim;
    canvas.fillText(laneName(lane), 4, top + LANE_HEIGHT / 2);
    lane.rows.forEach((row, depth) => {
      const y = top + LANE_HEIGHT + depth * ROW_HEIGHT;
      if (y + ROW_HEIGHT < AXIS_HEIGHT || y > height) return;
      eachVisible(spans, row, { ...view, pixels: width }, (index, left, wide, isOne) => {
        drawSpan(canvas, spans, index, { left, wide, y, isOne }, look, inks);
      });
    });
  }
  drawAxis(canvas, look, inks);
}

interface Box {
  left: number;
  wide: number;
  y: number;
  isOne: boolean;
}

function drawSpan(
  canvas: CanvasRenderingContext2D,
  spans: Spans,
  index: number,
  box: Box,
  look: Look,
  inks: Inks,
): void {
  const path = spans.path[index] ?? 0;
  const isChosen = index === look.chosen;
  const isFaint = look.path !== null && look.path !== path;
  const left = Math.max(box.left, -4);
  const right = Math.min(box.left + box.wide, look.width + 4);
  const wide = Math.max(right - left - (box.wide > 3 ? 1 : 0), 1);
  const tall = ROW_HEIGHT - 2;
  canvas.fillStyle = lineColour(path, look.scheme);
  canvas.globalAlpha = isFaint ? 0.1 : box.isOne && box.wide > 3 ? 0.3 : 0.6;
  canvas.fillRect(left, box.y, wide, tall);
  canvas.globalAlpha = isFaint ? 0.2 : 1;
  if (box.wide > 3) canvas.fillRect(left, box.y, 2, tall);
  if (isChosen) {
    canvas.globalAlpha = 1;
    canvas.strokeStyle = inks.accent;
    canvas.lineWidth = 2;
    canvas.strokeRect(left + 1, box.y + 1, Math.max(wide - 2, 1), tall - 2);
  }
  if (wide >= LABEL_WIDTH_MIN && box.isOne) {
    canvas.save();
    canvas.beginPath();
    canvas.rect(left, box.y, wide - 2, tall);
    canvas.clip();
    canvas.fillStyle = inks.text;
    canvas.fillText(
      shortName(spans.paths[path] ?? ""),
      Math.max(left, 0) + 6,
      box.y + tall / 2 + 1,
    );
    canvas.restore();
  }
  canvas.globalAlpha = 1;
}

function drawGrid(canvas: CanvasRenderingContext2D, look: Look, inks: Inks): void {
  const { view, width, height } = look;
  canvas.fillStyle = inks.grid;
  for (const tick of ticksOf(view, width / TICK_WIDTH)) {
    const x = Math.round(((tick - view.from) / (view.to - view.from)) * width);
    canvas.fillRect(x, AXIS_HEIGHT, 1, height - AXIS_HEIGHT);
  }
}

function drawAxis(canvas: CanvasRenderingContext2D, look: Look, inks: Inks): void {
  const { view, width } = look;
  canvas.fillStyle = inks.raised;
  canvas.fillRect(0, 0, width, AXIS_HEIGHT);
  canvas.fillStyle = inks.dim;
  for (const tick of ticksOf(view, width / TICK_WIDTH)) {
    const x = Math.round(((tick - view.from) / (view.to - view.from)) * width);
    canvas.fillText(momentText(tick), x + 4, AXIS_HEIGHT / 2);
    canvas.fillRect(x, AXIS_HEIGHT - 6, 1, 6);
  }
}
