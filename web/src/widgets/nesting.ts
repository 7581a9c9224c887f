/** How deep a text of Markdown nests: the parser, and React behind it, go down into each level; pure. */

/** Levels that anybody reads are far fewer. */
export const LEVELS_MAX = 50;
/** Nodes of a tree below each other: a level of a list is two, and what stands within has its own. */
const NODES_MAX = 2 * LEVELS_MAX + 20;

/** Columns that a line within an item of a list is moved in at least. */
const ITEM_COLUMNS = 2;
const TAB_COLUMNS = 4;
/** What opens a level at the begin of a line: a quote, an item, a footnote. */
const OPENING = /[ \t]+|>|[-+*](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$)|\[\^[^\]\s]{1,999}\]:/y;
/** A row of marks that ends in a word: each could be a level. */
const MARKS = new RegExp(`(?:\\*|_|~){${String(LEVELS_MAX + 1)}}(?=[*_~]*[^\\s*_~])`);

/** Returns whether a text may nest deeper than is drawn; in one pass, before it is parsed. */
export function nestsDeep(text: string): boolean {
  /** No line before this one has opened more levels. */
  let open = 0;
  let brackets = 0;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const { marks, quotes, columns } = opened(line);
    const within = Math.floor(columns / ITEM_COLUMNS);
    const levels = Math.min(Math.min(open, within + quotes) + marks, within + marks);
    open = Math.max(open, levels);
    // Brackets do not go on behind an empty line.
    brackets = line.trim() === "" ? 0 : bracketsAfter(line, brackets);
    if (levels > LEVELS_MAX || brackets > LEVELS_MAX || MARKS.test(line)) return true;
  }
  return false;
}

function opened(line: string): { marks: number; quotes: number; columns: number } {
  let marks = 0;
  let quotes = 0;
  let columns = 0;
  OPENING.lastIndex = 0;
  for (let found = OPENING.exec(line); found !== null; found = OPENING.exec(line)) {
    const [part] = found;
    if (part.trim() === "") {
      for (const letter of part) columns += letter === "\t" ? TAB_COLUMNS : 1;
    } else {
      marks += 1;
      if (part === ">") quotes += 1;
    }
  }
  return { marks, quotes, columns };
}

/** Returns how many brackets are open at the end of a line, or more than are allowed if it has so many. */
function bracketsAfter(line: string, before: number): number {
  let open = before;
  for (const [letter] of line.matchAll(/\\.|[[\]]/g)) {
    if (letter === "[") open += 1;
    else if (letter === "]") open = Math.max(0, open - 1);
    if (open > LEVELS_MAX) break;
  }
  return open;
}

interface Node {
  children?: readonly Node[];
}

/** Returns whether a tree goes down further than is drawn. */
export function isDeep(tree: Node): boolean {
  let level: readonly Node[] = [tree];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > NODES_MAX) return true;
    level = level.flatMap(({ children = [] }) => children);
  }
  return false;
}
