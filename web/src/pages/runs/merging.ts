/** What live news changes in a table: rows stay where they are until the reader is not at them. */
import type { Schemas } from "@/api/client";

export type RunRow = Schemas["RunRow"];

/** A page of an answer, and the server's clock when it was made. */
export interface LoadedPage {
  runs: RunRow[];
  columns: string[];
  next_cursor?: string | null;
  total?: number | null;
  filter_canonical: string;
  warnings?: string[];
  /** In milliseconds since 1970; the header that says it counts whole seconds. */
  asOf: number;
}

/** What waits until it can be shown without moving what is under the pointer. */
export interface Waiting {
  /** Runs that belong into the table and are not in it. */
  fresh: readonly RunRow[];
  /** Ids of rows that belong into it no more. */
  gone: ReadonlySet<string>;
  /** Rows may stand at another place than their values have. */
  isOutOfOrder: boolean;
}

export const NOTHING: Waiting = { fresh: [], gone: new Set(), isOutOfOrder: false };

export function isNothing(waiting: Waiting): boolean {
  return waiting.fresh.length === 0 && waiting.gone.size === 0 && !waiting.isOutOfOrder;
}

/** Returns whether the order is the one in which new runs come first. */
export function isNewestFirst(sort: string | undefined): boolean {
  return sort === undefined || sort === "-created";
}

/**
 * Puts what was read anew into the rows that have it already.
 *
 * @param pages - What is shown.
 * @param asked - Ids that were asked for, with the filter and the columns of the table.
 * @param answered - Of those, what the filter still finds.
 * @param sort - The order of the table.
 */
export function merge(
  pages: readonly LoadedPage[],
  waiting: Waiting,
  news: { asked: Iterable<string>; answered: readonly RunRow[]; sort: string | undefined },
): { pages: LoadedPage[]; waiting: Waiting } {
  const found = new Map(news.answered.map((row) => [row.id, row]));
  const fresh = new Map(waiting.fresh.map((row) => [row.id, row]));
  const gone = new Set(waiting.gone);
  const shown = new Set<string>();
  let { isOutOfOrder } = waiting;
  const merged = pages.map((page) => {
    const runs = page.runs.map((row) => {
      shown.add(row.id);
      const now = found.get(row.id);
      if (now === undefined || areEqual(row, now)) return row;
      if (mayMove(row, now, news.sort)) isOutOfOrder = true;
      return now;
    });
    return runs.some((row, at) => row !== page.runs[at]) ? { ...page, runs } : page;
  });
  for (const id of news.asked) {
    const row = found.get(id);
    if (row === undefined) {
      fresh.delete(id);
      if (shown.has(id)) gone.add(id);
    } else {
      gone.delete(id);
      if (!shown.has(id) && (fresh.has(id) || belongs(row, pages, news.sort))) fresh.set(id, row);
    }
  }
  return { pages: merged, waiting: { fresh: [...fresh.values()], gone, isOutOfOrder } };
}

/** Takes out the rows that are gone, and puts new ones at the head: newest first. */
export function settle(pages: readonly LoadedPage[], waiting: Waiting): LoadedPage[] {
  const [first, ...others] = without(pages, waiting.gone);
  if (first === undefined || waiting.fresh.length === 0) return first ? [first, ...others] : [];
  const { total } = first;
  return [
    {
      ...first,
      runs: [...waiting.fresh, ...first.runs].sort(newestFirst),
      ...(typeof total === "number" ? { total: total + waiting.fresh.length } : {}),
    },
    ...others,
  ];
}

/** Returns pages without some runs; the first one counts them all. */
export function without(pages: readonly LoadedPage[], gone: ReadonlySet<string>): LoadedPage[] {
  let removed = 0;
  const kept = pages.map((page) => {
    const runs = page.runs.filter(({ id }) => !gone.has(id));
    removed += page.runs.length - runs.length;
    return runs.length === page.runs.length ? page : { ...page, runs };
  });
  const [first, ...others] = kept;
  if (first === undefined || typeof first.total !== "number" || removed === 0) return kept;
  return [{ ...first, total: Math.max(0, first.total - removed) }, ...others];
}

function newestFirst(one: RunRow, other: RunRow): number {
  return Date.parse(other.created) - Date.parse(one.created) || (one.id < other.id ? 1 : -1);
}

/** Returns whether a run that is not loaded has a place among what is. */
function belongs(row: RunRow, pages: readonly LoadedPage[], sort: string | undefined): boolean {
  const last = pages.at(-1);
  if (last === undefined || (last.next_cursor ?? null) === null) return true;
  const created = Date.parse(row.created);
  if (isNewestFirst(sort)) {
    const lowest = last.runs.at(-1) ?? pages.at(-2)?.runs.at(-1);
    return lowest === undefined || created > Date.parse(lowest.created);
  }
  // Made since the table was read; an older one is on a page that is not loaded yet.
  return created >= Math.min(...pages.map((page) => page.asOf)) - 1000;
}

const NEVER_CHANGE = new Set(["id", "created", "user", "kind"]);

function mayMove(before: RunRow, now: RunRow, sort: string | undefined): boolean {
  return (sort ?? "-created").split(",").some((key) => {
    const field = key.trim().replace(/^-/, "");
    if (NEVER_CHANGE.has(field)) return false;
    if (field === "name") return before.name !== now.name;
    if (field === "status") return before.status !== now.status;
    if (field === "started") return before.started !== now.started;
    if (field === "finished") return before.finished !== now.finished;
    return true;
  });
}

function areEqual(one: RunRow, other: RunRow): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
