/**
 * The frame that a chart is drawn into: uPlot's axes, pointer and selection around our own shapes.
 *
 * uPlot is told of a square of side one; where values lie in it is decided here. So its steps of
 * axes never meet numbers that are too near or too far for it, and lines need not share their x.
 */
import "uplot/dist/uPlot.min.css";
import uPlot from "uplot";
import { paintShapes } from "@/charts/paint";
import type { Range } from "@/charts/scales";
import type { Box, Shape } from "@/charts/scene";
import type { Tick } from "@/charts/ticks";

export interface Colours {
  readonly text: string;
  readonly dim: string;
  readonly grid: string;
  readonly border: string;
  readonly surface: string;
  readonly face: string;
}

/** What a frame shows. */
export interface Picture {
  readonly x: Range;
  readonly y: Range;
  readonly xTicks: (countMax: number) => Tick[];
  readonly yTicks: (countMax: number) => Tick[];
  readonly xLabel: string;
  readonly yLabel: string;
  readonly shapes: (box: Box) => Shape[];
  readonly colours: Colours;
}

/** What a reader does, as shares of the width. */
export interface Gestures {
  readonly onSelect: (from: number, to: number) => void;
  readonly onPoint: (at: number | null) => void;
  readonly onReset: () => void;
}

const FONT_SIZE = 11;
/** A digit of this size, about. */
const DIGIT_WIDTH = 6.3;
/** Less than this is a click that trembled. */
const DRAG_MIN = 4;
/** What the marks of the other axis take, about. */
const AROUND = 60;
const TICK_SPACE = { x: 72, y: 40 } as const;
/** A low chart has its marks nearer to each other. */
const TICKS_MIN = { x: 2, y: 6 } as const;

/** Charts that are alike have axes of one width, so that they stand in line. */
const Y_AXIS_MIN = 48;

export class Frame {
  readonly #plot: uPlot;
  #picture: Picture;

  constructor(
    host: HTMLElement,
    size: { width: number; height: number },
    picture: Picture,
    gestures: Gestures,
  ) {
    this.#picture = picture;
    this.#plot = new uPlot(
      this.#options(size, gestures),
      [
        [0, 1],
        [0, 1],
      ],
      host,
    );
  }

  show(picture: Picture): void {
    this.#picture = picture;
    this.#plot.redraw(true, true);
  }

  resize(size: { width: number; height: number }): void {
    if (size.width === this.#plot.width && size.height === this.#plot.height) return;
    this.#plot.setSize(size);
  }

  /** Moves the line of the pointer; null takes it away. */
  pointAt(share: number | null): void {
    const isSeen = share !== null && share >= 0 && share <= 1;
    const left = isSeen ? share * this.#plot.over.clientWidth : -10;
    this.#plot.setCursor({ left, top: isSeen ? 0 : -10 }, false);
  }

  /** Where the plotting area lies in the frame, in pixels of the page. */
  get box(): Box {
    return boxOf(this.#plot);
  }

  destroy(): void {
    this.#plot.destroy();
  }

  #options(size: { width: number; height: number }, gestures: Gestures): uPlot.Options {
    const colour = (name: keyof Colours) => (): string => this.#picture.colours[name];
    const font = `${FONT_SIZE}px ${this.#picture.colours.face}`;
    const grid = { stroke: colour("grid"), width: 1 };
    const border = { show: true, stroke: colour("border"), width: 1 };
    const shared = {
      stroke: colour("dim"),
      font,
      labelFont: font,
      grid,
      ticks: { show: false },
      gap: 6,
      // Any that uPlot takes: the marks are ours.
      incrs: [0.1],
      space: 1,
      filter: (_: uPlot, splits: number[]) => splits,
    };
    return {
      ...size,
      padding: [8, 12, 0, 0],
      series: [{}, { paths: () => null, points: { show: false } }],
      scales: { x: { time: false, range: [0, 1] }, y: { range: [0, 1] } },
      axes: [
        {
          ...shared,
          border,
          size: 24,
          label: () => this.#picture.xLabel,
          labelSize: 16,
          labelGap: 0,
          ...this.#marks("x"),
        },
        {
          ...shared,
          size: (_: uPlot, texts: string[] | null) =>
            Math.max(
              Y_AXIS_MIN,
              14 + DIGIT_WIDTH * Math.max(0, ...(texts ?? []).map((text) => text.length)),
            ),
          ...(this.#picture.yLabel === ""
            ? {}
            : { label: () => this.#picture.yLabel, labelSize: 16, labelGap: 0 }),
          ...this.#marks("y"),
        },
      ],
      legend: { show: false },
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false },
        bind: {
          dblclick: () => () => {
            gestures.onReset();
            return null;
          },
        },
      },
      hooks: {
        draw: [
          (plot) => {
            this.#draw(plot);
          },
        ],
        setSelect: [
          (plot) => {
            const { left, width } = plot.select;
            if (width >= DRAG_MIN) {
              const whole = plot.over.clientWidth;
              gestures.onSelect(left / whole, (left + width) / whole);
            }
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
        setCursor: [
          (plot) => {
            const left = plot.cursor.left ?? -10;
            gestures.onPoint(left < 0 ? null : left / plot.over.clientWidth);
          },
        ],
      },
    };
  }

  #marks(side: "x" | "y"): Pick<uPlot.Axis, "splits" | "values"> {
    let ticks: Tick[] = [];
    return {
      splits: (plot) => {
        // The box is laid out after the marks.
        const length = (side === "x" ? plot.width : plot.height) - AROUND;
        const [low, high] = this.#picture[side];
        const countMax = Math.max(TICKS_MIN[side], Math.floor(length / TICK_SPACE[side]));
        const all = side === "x" ? this.#picture.xTicks(countMax) : this.#picture.yTicks(countMax);
        ticks = all.filter(({ at }) => at >= low && at <= high);
        return ticks.map(({ at }) => (at - low) / (high - low || 1));
      },
      values: () => ticks.map(({ text }) => text),
    };
  }

  #draw(plot: uPlot): void {
    const box = boxOf(plot);
    const { ctx } = plot;
    ctx.save();
    ctx.scale(uPlot.pxRatio, uPlot.pxRatio);
    paintShapes(ctx, this.#picture.shapes(box), box, this.#picture.colours.face);
    ctx.restore();
  }
}

function boxOf(plot: uPlot): Box {
  const { left, top, width, height } = plot.bbox;
  const ratio = uPlot.pxRatio;
  return { left: left / ratio, top: top / ratio, width: width / ratio, height: height / ratio };
}
