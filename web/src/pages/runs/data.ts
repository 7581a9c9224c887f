/** The runs that a table shows: pages of a search. */
import {
  type InfiniteData,
  infiniteQueryOptions,
  keepPreviousData,
  useInfiniteQuery,
} from "@tanstack/react-query";
import { api, bodyOf } from "@/api/client";
import type { RunsSearch } from "@/pages/runs/address";
import { askedColumns, shownColumns } from "@/pages/runs/columns";
import type { LoadedPage } from "@/pages/runs/merging";

/** What a table asks for. */
export interface Asked {
  project: string;
  /** All of them hold. */
  filters: readonly string[];
  sort: string | undefined;
  columns: readonly string[];
  isTrash: boolean;
}

/**
 * Returns what the table of an address asks for.
 *
 * @param scope - A filter that holds beside the one of the address.
 */
export function askedOf(project: string, search: RunsSearch, scope = ""): Asked {
  return {
    project,
    filters: [scope, search.filter ?? ""].filter((text) => text !== ""),
    sort: search.sort,
    columns: shownColumns(search.columns),
    isTrash: search.trash === true,
  };
}

export type Loaded = InfiniteData<LoadedPage, string | null>;

/** Enough for a screen at once, then pages by which a long list is soon complete. */
const FIRST_PAGE = 100;
const NEXT_PAGE = 500;

export function runsKey(asked: Asked): readonly unknown[] {
  const { project, filters, sort = null, columns, isTrash } = asked;
  return ["runs", project, { filters, sort, columns: askedColumns(columns), isTrash }];
}

/** Reads one page of a search. */
export async function readPage(
  asked: Asked,
  page: { cursor: string | null; limit: number; filters?: readonly string[] },
  signal?: AbortSignal,
): Promise<LoadedPage> {
  const columns = askedColumns(asked.columns);
  const filter = page.filters ?? asked.filters;
  const answer = await api.POST("/v1/runs/search", {
    ...(signal === undefined ? {} : { signal }),
    body: {
      project: asked.project,
      limit: page.limit,
      trashed: asked.isTrash,
      total: page.cursor === null,
      ...(filter.length === 0 ? {} : { filter: [...filter] }),
      ...(asked.sort === undefined ? {} : { sort: asked.sort }),
      ...(columns.length === 0 ? {} : { columns: columns.join(",") }),
      ...(page.cursor === null ? {} : { cursor: page.cursor }),
    },
  });
  const date = Date.parse(answer.response.headers.get("date") ?? "");
  return { ...bodyOf(answer), asOf: Number.isNaN(date) ? Date.now() : date };
}

export function runsQuery(asked: Asked) {
  return infiniteQueryOptions({
    queryKey: runsKey(asked),
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) =>
      readPage(
        asked,
        { cursor: pageParam, limit: pageParam === null ? FIRST_PAGE : NEXT_PAGE },
        signal,
      ),
    getNextPageParam: (page) => page.next_cursor ?? null,
    staleTime: 30_000,
  });
}

export function useRuns(asked: Asked) {
  return useInfiniteQuery({
    ...runsQuery(asked),
    // Rows stay while others are on their way: a table that blinks cannot be read.
    placeholderData: keepPreviousData,
  });
}
