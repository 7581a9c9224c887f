/** What the address of a run holds behind its `?`; anything else in it is left out. */
import { readSearch, type RunsSearch } from "@/pages/runs/address";
import { chartsAddress, type ChartsAddress } from "@/pages/run/charts/address";

/** The tabs in their order; the first is shown where the address names none. */
export const RUN_TABS = [
  "charts",
  "params",
  "logs",
  "media",
  "timeline",
  "events",
  "overview",
  "children",
] as const;
export type RunTab = (typeof RUN_TABS)[number];

export const LOG_LEVELS = ["debug", "info", "warning", "error"] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

/** What Overview shows key by key. */
const DOCUMENTS = ["environment", "config", "spec"] as const;
export type DocumentName = (typeof DOCUMENTS)[number];

interface RunAddress extends ChartsAddress, RunsSearch {
  tab?: RunTab;
  /** Only what this attempt wrote; without it each step has its newest attempt. */
  attempt?: number;
  /** What Params looks for. */
  params?: string;
  /** How Params shows nested keys; flat without it. */
  tree?: true;
  /** The least level that Logs shows; debug without it. */
  level?: LogLevel;
  /** What Logs looks for. */
  log?: string;
  /** Where Logs begins; at the newest lines without it. */
  start?: "first";
  /** What Media looks for among its keys. */
  media?: string;
  /** The step that Media stands at; the last one without it. */
  step?: number;
  /** Whether Media shows all steps side by side. */
  steps?: "all";
  /** How large Media shows them; small without it. */
  size?: "large";
  /** What Events shows; all of them without it. */
  events?: "warnings";
  /** The lane and path that Timeline looks at. */
  span?: string;
  /** What Timeline shows, in nanoseconds since its first span. */
  from?: number;
  to?: number;
  /** What Overview looks for among the series. */
  series?: string;
  /** Whose documents Overview shows; those of the first producer without both. */
  stream?: string;
  rank?: number;
  /** What Overview looks for in each document. */
  environment?: string;
  config?: string;
  spec?: string;
  /** Documents whose keys Overview shows flat; as a tree without it. */
  flat?: readonly DocumentName[];
}

/** Members that are texts, whatever they look like. */
const TEXTS = [
  ...(["params", "log", "media", "span", "series", "stream"] as const),
  ...DOCUMENTS,
] as const;
/** Members that are whole numbers. */
const NUMBERS = ["step", "from", "to", "rank"] as const;

export function runAddress(search: Record<string, unknown>): RunAddress {
  const tab = RUN_TABS.find((name) => name === search.tab);
  // Only one tab has a table of runs.
  const found: RunAddress = {
    ...chartsAddress(search),
    ...(tab === "children" ? readSearch(search) : {}),
  };
  if (tab !== undefined && tab !== "charts") found.tab = tab;
  const level = LOG_LEVELS.find((name) => name === search.level);
  if (level !== undefined && level !== "debug") found.level = level;
  if (search.tree === true) found.tree = true;
  if (search.start === "first") found.start = "first";
  if (search.steps === "all") found.steps = "all";
  if (search.size === "large") found.size = "large";
  if (search.events === "warnings") found.events = "warnings";
  const flat = Array.isArray(search.flat) ? (search.flat as unknown[]) : [];
  const known = DOCUMENTS.filter((name) => flat.includes(name));
  if (known.length > 0) found.flat = known;
  for (const name of TEXTS) {
    const text = search[name];
    // A text of digits was read as a number.
    if (typeof text === "string" || typeof text === "number") {
      if (text !== "") found[name] = String(text);
    }
  }
  const attempt = wholeNumber(search.attempt);
  if (attempt !== undefined && attempt > 0) found.attempt = attempt;
  for (const name of NUMBERS) {
    const value = wholeNumber(search[name]);
    if (value !== undefined) found[name] = value;
  }
  return found;
}

function wholeNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
