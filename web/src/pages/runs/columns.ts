/** Columns of the table: what the server is asked for, and how each one looks. Texts are the server's. */

/** What a column's values are, so that each kind is drawn in one way. */
type ColumnKind = "status" | "text" | "number" | "time" | "duration" | "value";

export interface ColumnLook {
  /** The column in the search language, in the spelling that the address has. */
  text: string;
  label: string;
  /** What is shown of it, where that is not the last value. */
  detail: string;
  kind: ColumnKind;
  /** In pixels. */
  width: number;
  /** The series behind a metric's column: `loss{split=val}`. */
  series: string | null;
  /** Numbers stand at the right, under each other. */
  isRight: boolean;
  /** Whether the curve of the series stands beside the value. */
  hasSpark: boolean;
}

export const DEFAULT_COLUMNS: readonly string[] = [
  "status",
  "name",
  "kind",
  "experiment",
  "user",
  "created",
  "duration",
];

/** What stands in every row of an answer; everything else is asked for as a column. */
const IN_EVERY_ROW = new Set([
  "id",
  "status",
  "name",
  "kind",
  "user",
  "created",
  "started",
  "finished",
]);

const ATTRIBUTES: Record<string, { label: string; kind: ColumnKind; width: number }> = {
  status: { label: "Status", kind: "status", width: 108 },
  name: { label: "Name", kind: "text", width: 240 },
  kind: { label: "Kind", kind: "text", width: 88 },
  experiment: { label: "Experiment", kind: "text", width: 160 },
  user: { label: "User", kind: "text", width: 120 },
  created: { label: "Created", kind: "time", width: 156 },
  started: { label: "Started", kind: "time", width: 156 },
  finished: { label: "Finished", kind: "time", width: 156 },
  duration: { label: "Duration", kind: "duration", width: 108 },
  attempts: { label: "Attempts", kind: "number", width: 108 },
  note: { label: "Note", kind: "text", width: 240 },
  id: { label: "Id", kind: "text", width: 300 },
  parent: { label: "Parent", kind: "text", width: 300 },
};

const STATISTIC = /\.(last|min|max|count|mean|nonfinite|min_step|max_step)$/;
/** Room for a letter of a head, and for what stands beside it. */
const LETTER_PX = 7;
const BESIDE_PX = 60;

/** Returns the column of an address, whether or not a run has it. */
export function lookOf(text: string): ColumnLook {
  const attribute = Object.hasOwn(ATTRIBUTES, text) ? ATTRIBUTES[text] : undefined;
  if (attribute !== undefined) {
    const isRight = attribute.kind === "number" || attribute.kind === "duration";
    return { text, detail: "", series: null, isRight, hasSpark: false, ...attribute };
  }
  if (text.startsWith("metrics.")) return metricLook(text);
  const label = text.replace(/^(params|tags)\./, "");
  const width = widthOf(label, 112);
  return {
    text,
    label,
    detail: "",
    kind: "value",
    width,
    series: null,
    isRight: false,
    hasSpark: false,
  };
}

function metricLook(text: string): ColumnLook {
  const at = / AT (MIN|MAX) metrics\./.exec(text);
  if (at !== null) {
    const series = text.slice("metrics.".length, at.index);
    const other = text.slice(at.index + at[0].length);
    const detail = `at ${at[1] === "MIN" ? "min" : "max"} of ${other}`;
    const width = widthOf(`${series} ${detail}`, 128);
    return {
      text,
      label: series,
      detail,
      kind: "number",
      width,
      series,
      isRight: true,
      hasSpark: false,
    };
  }
  const statistic = STATISTIC.exec(text)?.[1];
  const series = text.slice("metrics.".length).replace(STATISTIC, "");
  const detail = statistic === undefined || statistic === "last" ? "" : statistic;
  return {
    text,
    label: series,
    detail,
    kind: "number",
    width: widthOf(`${series} ${detail}`, 112),
    series,
    isRight: true,
    hasSpark: false,
  };
}

function widthOf(head: string, least: number): number {
  return Math.min(Math.max(head.length * LETTER_PX + BESIDE_PX, least), 260);
}

/** Values beside which a curve says more. */
const BESIDE_CURVES = new Set(["", "min", "max", "mean"]);
const SPARK_WIDTH = 64;

/** Returns the looks of columns; the first of a series has its curve. */
export function looksOf(columns: readonly string[]): ColumnLook[] {
  const seen = new Set<string>();
  return columns.map((text) => {
    const look = lookOf(text);
    if (look.series === null || seen.has(look.series) || !BESIDE_CURVES.has(look.detail)) {
      return look;
    }
    seen.add(look.series);
    return { ...look, hasSpark: true, width: Math.max(look.width, 96 + SPARK_WIDTH) };
  });
}

/** Returns the columns that have to be asked for, in the order in which their values come. */
export function askedColumns(columns: readonly string[]): string[] {
  return columns.filter((column) => !IN_EVERY_ROW.has(column));
}

/** Returns the columns of an address: the name is always there, each one once. */
export function shownColumns(columns: readonly string[] | undefined): string[] {
  const shown = [...new Set(columns ?? DEFAULT_COLUMNS)];
  return shown.includes("name") ? shown : ["name", ...shown];
}

/** Returns whether the columns are those of an address that names none. */
export function areDefault(columns: readonly string[]): boolean {
  return (
    columns.length === DEFAULT_COLUMNS.length &&
    columns.every((column, at) => column === DEFAULT_COLUMNS[at])
  );
}

type SortDirection = "ascending" | "descending" | null;

/** Returns how a sort orders a column; the address without one begins with the newest run. */
export function directionOf(sort: string | undefined, column: string): SortDirection {
  const given = sort ?? "-created";
  if (given === column) return "ascending";
  return given === `-${column}` ? "descending" : null;
}

/** Returns the sort after a click on a column's head: what is read first, then the other way, then none. */
export function nextSort(sort: string | undefined, look: ColumnLook): string | undefined {
  const { text } = look;
  const first = look.kind === "text" || look.kind === "status" ? text : `-${text}`;
  const second = first === text ? `-${text}` : text;
  const given = sort ?? "-created";
  if (given === first) return second;
  if (given === second && given !== "-created") return undefined;
  return first === "-created" ? undefined : first;
}

/** What no sort can name: a value at the extreme of another series. */
export function isSortable(look: ColumnLook): boolean {
  return !look.detail.startsWith("at ");
}
