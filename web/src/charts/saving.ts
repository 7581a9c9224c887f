/** Charts as files: a picture as PNG or SVG, and all points as CSV. */
import type { LineSource } from "@/charts/following";
import type { Colours, Picture } from "@/charts/frame";
import { paintShapes } from "@/charts/paint";
import { readExact } from "@/charts/reading";
import type { Box, DrawnLine, Shape } from "@/charts/scene";
import { svgText } from "@/charts/svg";

const SIZE = { width: 960, height: 540 } as const;
const ROW = 18;
const TEXT = 12;
const LEGEND_MAX = 20;
const PNG_RATIO = 2;

type TextShape = Extract<Shape, { kind: "text" }>;

interface Sheet {
  readonly shapes: Shape[];
  readonly box: Box;
  readonly width: number;
  readonly height: number;
  readonly colours: Colours;
}

/** Lays a chart out on a sheet: title, axes, lines, legend and what has to be said of them. */
export function sheetOf(
  picture: Picture,
  lines: readonly DrawnLine[],
  about: { title: string; notes: string },
): Sheet {
  const { colours } = picture;
  const named = lines.slice(0, LEGEND_MAX);
  const legendHeight = named.length * ROW + (lines.length > named.length ? ROW : 0);
  const box: Box = {
    left: 80,
    top: 40,
    width: SIZE.width - 104,
    height: SIZE.height - 40 - 64,
  };
  const bottom = box.top + box.height;
  const height = SIZE.height + legendHeight + ROW;
  const label = (text: string, x: number, y: number, how: Partial<TextShape> = {}): Shape => ({
    kind: "text",
    text,
    x,
    y,
    colour: colours.text,
    size: TEXT,
    anchor: "start",
    ...how,
  });
  const rule = (path: number[], colour: string): Shape => ({
    kind: "line",
    path,
    colour,
    width: 1,
    alpha: 1,
    isInside: false,
  });
  const shapes: Shape[] = [label(about.title, box.left, 20, { size: 15 })];
  const place = (at: number, [low, high]: readonly [number, number]): number =>
    (at - low) / (high - low || 1);
  for (const { at, text } of picture.xTicks(8)) {
    const x = box.left + place(at, picture.x) * box.width;
    if (x < box.left - 1 || x > box.left + box.width + 1) continue;
    shapes.push(rule([x, box.top, x, bottom], colours.grid));
    shapes.push(label(text, x, bottom + 14, { anchor: "middle", colour: colours.dim }));
  }
  for (const { at, text } of picture.yTicks(10)) {
    const y = bottom - place(at, picture.y) * box.height;
    if (y < box.top - 1 || y > bottom + 1) continue;
    shapes.push(rule([box.left, y, box.left + box.width, y], colours.grid));
    shapes.push(label(text, box.left - 8, y, { anchor: "end", colour: colours.dim }));
  }
  shapes.push(rule([box.left, bottom, box.left + box.width, bottom], colours.border));
  shapes.push(
    label(picture.xLabel, box.left + box.width / 2, bottom + 34, {
      anchor: "middle",
      colour: colours.dim,
    }),
  );
  if (picture.yLabel !== "") {
    shapes.push(
      label(picture.yLabel, box.left - 8, box.top - 12, { anchor: "end", colour: colours.dim }),
    );
  }
  shapes.push(...picture.shapes(box));
  let y = SIZE.height - 4;
  for (const line of named) {
    shapes.push({
      kind: "line",
      path: [box.left, y, box.left + 16, y],
      colour: line.colour,
      width: 3,
      alpha: 1,
      isInside: false,
    });
    shapes.push(label(line.name, box.left + 24, y));
    y += ROW;
  }
  if (lines.length > named.length) {
    shapes.push(label(`and ${lines.length - named.length} more lines`, box.left + 24, y));
    y += ROW;
  }
  shapes.push(label(about.notes, box.left, y, { colour: colours.dim }));
  return { shapes, box, width: SIZE.width, height, colours };
}

/** Returns a sheet as an SVG file. */
export function svgFile(sheet: Sheet): Blob {
  const { shapes, box, width, height, colours } = sheet;
  const text = svgText(shapes, box, {
    width,
    height,
    background: colours.surface,
    face: colours.face,
  });
  return new Blob([text], { type: "image/svg+xml" });
}

/** Returns a sheet as a PNG file, two pixels a unit. */
export async function pngFile(sheet: Sheet): Promise<Blob> {
  const canvas = document.createElement("canvas");
  canvas.width = sheet.width * PNG_RATIO;
  canvas.height = sheet.height * PNG_RATIO;
  const pen = canvas.getContext("2d");
  if (pen === null) throw new Error("The browser draws no canvas.");
  pen.scale(PNG_RATIO, PNG_RATIO);
  pen.fillStyle = sheet.colours.surface;
  pen.fillRect(0, 0, sheet.width, sheet.height);
  paintShapes(pen, sheet.shapes, sheet.box, sheet.colours.face);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob === null) reject(new Error("The browser made no picture."));
      else resolve(blob);
    }, "image/png");
  });
}

/** Returns all points of lines as they were logged, as CSV. */
export async function csvFile(lines: readonly LineSource[]): Promise<Blob> {
  const parts: string[] = ["run,series,step,time,value\r\n"];
  for (const line of lines) {
    const start = `${line.run},${quoted(line.name)}`;
    for await (const page of readExact(line)) {
      parts.push(
        page
          .map(({ step, time, value }) => `${start},${step},${momentText(time)},${value}\r\n`)
          .join(""),
      );
    }
  }
  return new Blob(parts, { type: "text/csv" });
}

/** Returns a field of CSV; where a table would take it for a formula, a quote stands before it. */
export function quoted(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns a moment in UTC with all its digits. */
export function momentText(microseconds: number): string {
  const whole = Math.floor(microseconds / 1000);
  const rest = microseconds - whole * 1000;
  const text = new Date(whole).toISOString().slice(0, -1);
  return `${text}${String(rest).padStart(3, "0")}Z`;
}

/** Gives a file to the reader. */
export function save(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads it after the click.
  setTimeout(() => {
    URL.revokeObjectURL(url);
  }, 60_000);
}

/** Returns a name that every file system takes. */
export function fileName(title: string, ending: string): string {
  const plain = title.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 80);
  return `${plain === "" ? "chart" : plain}.${ending}`;
}
