/** What the address of a table of runs holds, so that a link shows the same. */
import { withoutNothing } from "@/pages/address";
import { areDefault } from "@/pages/runs/columns";

export interface RunsSearch {
  filter?: string;
  sort?: string;
  /** Texts of the search language, one for each column. */
  columns?: string[];
  /** The saved view that was opened last; what differs from it stands beside it. */
  view?: string;
  /** The param, tag or attribute by which runs are summed up. */
  group?: string;
  /** Runs in the trash instead of the others. */
  trash?: true;
  /** Of the few runs that are chosen. */
  chosen?: string[];
}

/** A part of an address: `undefined` takes it out. */
export type RunsChange = { [Key in keyof RunsSearch]?: RunsSearch[Key] | undefined };

/** The server takes 50. */
export const COLUMNS_MAX = 50;
/** More chosen runs would make an address that no mail keeps whole. */
export const CHOSEN_IN_ADDRESS_MAX = 20;

/** Reads an address; what it does not understand it leaves out. */
export function readSearch(search: Record<string, unknown>): RunsSearch {
  const columns = texts(search.columns).slice(0, COLUMNS_MAX);
  const chosen = texts(search.chosen).slice(0, CHOSEN_IN_ADDRESS_MAX);
  return withoutNothing<RunsChange>({
    filter: text(search.filter),
    sort: text(search.sort),
    columns: columns.length === 0 || areDefault(columns) ? undefined : columns,
    view: text(search.view),
    group: text(search.group),
    trash: search.trash === true ? true : undefined,
    chosen: chosen.length === 0 ? undefined : chosen,
  });
}

/** Returns an address with a change made. */
export function changedSearch<Search extends RunsSearch>(
  search: Search,
  change: RunsChange,
): Search {
  return withoutNothing({ ...search, ...change });
}

function text(value: unknown): string | undefined {
  // The router reads a text of digits as a number.
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

function texts(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((one: unknown) => text(one) ?? []);
}
