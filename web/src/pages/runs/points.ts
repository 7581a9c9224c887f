/** Places in a text: the server counts code points, a browser's fields count halves of them. */

/** Returns the place in code points of a place in a field. */
export function pointsBefore(text: string, at: number): number {
  return Array.from(text.slice(0, at)).length;
}

/** Returns the text before, within and behind a stretch, and behind all of it a blank where it ends. */
export function cut(text: string, offset: number, length: number): [string, string, string] {
  const points = Array.from(text);
  const within = points.slice(offset, offset + Math.max(1, length)).join("");
  return [
    points.slice(0, offset).join(""),
    within === "" ? " " : within,
    points.slice(offset + Math.max(1, length)).join(""),
  ];
}

/** Puts a candidate in its place, and returns the text with the place behind it, both as a field has them. */
export function accepted(
  text: string,
  place: { start: number; end: number },
  candidate: { text: string; kind: string },
): { text: string; caret: number } {
  const points = Array.from(text);
  const before = points.slice(0, place.start).join("");
  const after = points.slice(place.end).join("");
  // Behind these a word of its own comes next.
  const isWord = ["field", "param", "tag", "word", "sign"].includes(candidate.kind);
  const put = `${candidate.text}${isWord && !after.startsWith(" ") ? " " : ""}`;
  const caret = before.length + put.length + (isWord && after.startsWith(" ") ? 1 : 0);
  return { text: before + put + after, caret };
}
