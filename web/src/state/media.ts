/** The media of a run: images and tables, by key, labels and step. */
import { queryOptions } from "@tanstack/react-query";
import { api, bodyOf, readRaw, type Schemas } from "@/api/client";
import { runKey } from "@/state/run";
import { labelsText, seriesName } from "@/state/series";

export type MediaItem = Schemas["MediaFacts"];

export interface MediaList {
  items: MediaItem[];
  /** Items that retention has deleted. */
  prunedCount: number;
}

/** Items of one key and one set of labels, by step; those without a step come first. */
export interface MediaGroup {
  /** For people: what was logged under a name that is none of ours has that name, all of it. */
  name: string;
  items: MediaItem[];
}

/** The largest page that the server gives. */
const PAGE = 500;

export function mediaQuery(run: string) {
  return queryOptions({
    queryKey: [...runKey(run), "media"],
    queryFn: async ({ signal }): Promise<MediaList> => {
      const found: MediaList = { items: [], prunedCount: 0 };
      let cursor: string | undefined;
      do {
        const page: Schemas["MediaPage"] = bodyOf(
          await api.GET("/v1/runs/{run}/media", {
            params: {
              path: { run },
              query: { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
            },
            signal,
          }),
        );
        found.items.push(...page.media);
        found.prunedCount = page.pruned_count ?? 0;
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined);
      return found;
    },
  });
}

/** Returns the address of an item's bytes. */
export function contentPath(run: string, item: string): string {
  return `/v1/runs/${encodeURIComponent(run)}/media/${encodeURIComponent(item)}/content`;
}

/** A table as it was logged. */
export interface TableContent {
  columns: string[];
  data: unknown[][];
}

/** The content of an item never changes: an id never gets other bytes. */
export function tableQuery(run: string, item: string) {
  return queryOptions({
    queryKey: ["media", item],
    staleTime: Infinity,
    queryFn: async ({ signal }): Promise<TableContent> => {
      const answer = await readRaw(contentPath(run, item), signal);
      const found = (await answer.json()) as Partial<TableContent>;
      if (!Array.isArray(found.columns) || !Array.isArray(found.data)) {
        throw new Error("The table has no columns or no rows.");
      }
      return { columns: found.columns, data: found.data };
    },
  });
}

/** Returns the items with those of a frame in their places: other bytes at a place replace it. */
export function withNewMedia(known: MediaList, fresh: readonly MediaItem[]): MediaList {
  const byPlace = new Map(known.items.map((item) => [placeOf(item), item]));
  for (const item of fresh) byPlace.set(placeOf(item), item);
  return { ...known, items: [...byPlace.values()] };
}

function placeOf(item: MediaItem): string {
  return JSON.stringify([seriesName(item), item.step]);
}

/** Returns the items in groups, by name. */
export function groupsOf(items: readonly MediaItem[]): MediaGroup[] {
  const groups = new Map<string, MediaGroup>();
  for (const item of items) {
    const series = seriesName(item);
    const name = "raw" in item.labels ? labelsText(item) : series;
    const group = groups.get(series) ?? { name, items: [] };
    group.items.push(item);
    groups.set(series, group);
  }
  for (const group of groups.values()) {
    group.items.sort((one, other) => (one.step ?? -1) - (other.step ?? -1));
  }
  return [...groups.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Returns all steps that any item has, rising. */
export function stepsOf(groups: readonly MediaGroup[]): number[] {
  const steps = new Set<number>();
  for (const { items } of groups) {
    for (const { step } of items) if (step !== null) steps.add(step);
  }
  return [...steps].sort((one, other) => one - other);
}

/** Returns the item that a group has at a step, or the one before it; null: it has none so far. */
export function itemAt(group: MediaGroup, step: number | null): MediaItem | null {
  let found: MediaItem | null = null;
  for (const item of group.items) {
    if (step !== null && (item.step ?? -1) > step) break;
    found = item;
  }
  return found;
}

/** Returns why the bytes of an item cannot be shown. */
export async function contentError(run: string, item: string): Promise<Error> {
  try {
    const answer = await readRaw(contentPath(run, item));
    await answer.body?.cancel();
    return new Error("The bytes are there, but the browser cannot draw them.");
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
