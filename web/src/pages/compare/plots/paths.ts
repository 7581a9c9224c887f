/** Lines and labels of plots; pure. */

type Point = readonly [x: number, y: number];

/** Returns the path through points; where one is missing, the line has a gap. */
export function pathOf(points: readonly (Point | null)[]): string {
  let path = "";
  let isOpen = false;
  for (const point of points) {
    if (point !== null) path += `${isOpen ? "L" : "M"}${round(point[0])},${round(point[1])}`;
    isOpen = point !== null;
  }
  return path;
}

function round(pixel: number): number {
  return Math.round(pixel * 10) / 10;
}

const LETTERS = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Letters as people see them, so that none is cut in half. */
export function lettersOf(text: string): string[] {
  return Array.from(LETTERS.segment(text), ({ segment }) => segment);
}

/** Returns a text of so many letters at most; what is cut is told by a mark in its middle. */
export function shortened(text: string, lettersMax: number): string {
  if (text.length <= lettersMax) return text;
  const letters = lettersOf(text);
  if (letters.length <= lettersMax) return text;
  const kept = Math.max(2, lettersMax - 1);
  const head = Math.ceil(kept / 2);
  return `${letters.slice(0, head).join("")}…${letters.slice(letters.length - (kept - head)).join("")}`;
}
