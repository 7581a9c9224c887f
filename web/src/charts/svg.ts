/** Shapes as the text of an SVG file. */
import type { Path } from "@/charts/polylines";
import { isInside } from "@/charts/paint";
import { markCorners, type Box, type Shape } from "@/charts/scene";

export interface Sheet {
  readonly width: number;
  readonly height: number;
  readonly background: string;
  readonly face: string;
}

/** Returns a file that holds shapes; lines and areas stay inside a box. */
export function svgText(shapes: readonly Shape[], box: Box, sheet: Sheet): string {
  const { width, height, background, face } = sheet;
  const inside = shapes.filter(isInside).map(element).join("\n");
  const around = shapes
    .filter((shape) => !isInside(shape))
    .map(element)
    .join("\n");
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${escaped(face)}">`,
    `<clipPath id="box"><rect x="${box.left}" y="${box.top}" width="${box.width}" height="${box.height}"/></clipPath>`,
    `<rect width="100%" height="100%" fill="${background}"/>`,
    `<g clip-path="url(#box)" stroke-linejoin="round">\n${inside}\n</g>`,
    around,
    "</svg>\n",
  ].join("\n");
}

function element(shape: Shape): string {
  switch (shape.kind) {
    case "line":
      return `<path d="${steps(shape.path, false)}" fill="none" stroke="${shape.colour}" stroke-width="${shape.width}" stroke-opacity="${digits(shape.alpha)}"/>`;
    case "area":
      return `<path d="${steps(shape.path, true)}" fill="${shape.colour}" fill-opacity="${digits(shape.alpha)}"/>`;
    case "dots":
      return pairs(shape.path)
        .map(
          ([x, y]) =>
            `<circle cx="${digits(x)}" cy="${digits(y)}" r="${shape.radius}" fill="${shape.colour}" fill-opacity="${digits(shape.alpha)}"/>`,
        )
        .join("");
    case "mark": {
      const { path, isFilled } = markCorners(shape.mark, shape.x, shape.y);
      const how = isFilled
        ? `fill="${shape.colour}" fill-opacity="${digits(shape.alpha)}"`
        : `fill="none" stroke="${shape.colour}" stroke-width="1.5" stroke-opacity="${digits(shape.alpha)}"`;
      return `<path d="${steps(path, isFilled)}" ${how}/>`;
    }
    case "text":
      return `<text x="${digits(shape.x)}" y="${digits(shape.y)}" font-size="${shape.size}" fill="${shape.colour}" text-anchor="${shape.anchor}" dominant-baseline="middle">${escaped(shape.text)}</text>`;
  }
}

function pairs(path: Path): [number, number][] {
  const found: [number, number][] = [];
  for (let at = 0; at < path.length; at += 2) {
    found.push([path[at] as number, path[at + 1] as number]);
  }
  return found;
}

function steps(path: Path, isClosed: boolean): string {
  let text = "";
  let isStart = true;
  for (const [x, y] of pairs(path)) {
    if (Number.isNaN(x)) {
      if (isClosed && !isStart) text += "Z";
      isStart = true;
      continue;
    }
    text += `${isStart ? "M" : "L"}${digits(x)} ${digits(y)}`;
    isStart = false;
  }
  return isClosed && !isStart ? `${text}Z` : text;
}

function digits(value: number): string {
  return String(Math.round(value * 100) / 100);
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** Returns a text of users as a text of a file; what XML cannot hold is left out. */
export function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "")
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
