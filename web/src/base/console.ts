/** What a terminal would show of a line that a program printed. */

/** A progress bar goes back to the first column again and again; `ESC[K` clears what is behind it. */
/* eslint-disable no-control-regex -- control characters are what is looked for */
const ESCAPES =
  /\u001b\[[0-9;?]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[@-Z\\-_]/g;
const CLEARS = /\u001b\[[0-2]?K/;
const SPECIAL = /[\r\u001b]/;
/* eslint-enable no-control-regex */

/** Returns the last state of a text: carriage returns overwrite, colours and cursor moves are left out. */
export function lastState(text: string): string {
  if (!SPECIAL.test(text)) return text;
  return text.replaceAll("\r\n", "\n").split("\n").map(lastOfLine).join("\n");
}

function lastOfLine(line: string): string {
  if (!SPECIAL.test(line)) return line;
  const parts = line.split("\r");
  // What stands before the last one that clears the line is behind it.
  const first = Math.max(
    0,
    parts.findLastIndex((part) => CLEARS.test(part)),
  );
  // Written in place: a line of 8 000 parts that each copied what is shown took a second.
  const shown: string[] = [];
  for (const part of parts.slice(first)) {
    let at = 0;
    for (const letter of part.replace(ESCAPES, "")) {
      shown[at] = letter;
      at += 1;
    }
  }
  return shown.join("");
}

/** What the tracker writes behind a line that was longer than it keeps. */
const CUT = / \[cut: (\d+) more characters\]$/;

/** Returns a line without the mark that it was cut, and how many characters are missing; 0: none. */
export function withoutCut(text: string): { text: string; missing: number } {
  const found = CUT.exec(text);
  if (found === null) return { text, missing: 0 };
  return { text: text.slice(0, found.index), missing: Number(found[1]) };
}
