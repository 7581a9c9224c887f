/** Keeps a table as the server has it: reads what changed, and shows it when nobody is at the rows. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { type Asked, type Loaded, readPage, runsKey } from "@/pages/runs/data";
import { Gathering } from "@/pages/runs/gathering";
import {
  isNewestFirst,
  isNothing,
  merge,
  NOTHING,
  settle,
  type RunRow,
  type Waiting,
  without,
} from "@/pages/runs/merging";
import { type ProjectFrame, projectStream, type StreamState, useStream } from "@/state/events";

/** Ids of one request: a filter has at most 4 096 characters. */
const IDS_OF_REQUEST = 80;
/** With more the head is read again. */
const IDS_MAX = 400;
/** What may have changed between the first answer and the first news. */
const HEAD_ROWS = 100;
/** The first answer is on its way meanwhile. */
const HEAD_MS = 1_000;
/** A table whose order changes all the time is put in order so often. */
const ORDER_MS = 4_000;

interface LiveRuns {
  connection: StreamState;
  waiting: Waiting;
  /** Shows what waits; where that is no matter of the head alone, the head is read again. */
  show: () => void;
  /** Takes runs out of the table at once: they were put into the trash here. */
  remove: (ids: readonly string[]) => void;
  /** Asks how runs stand that were changed here. */
  renew: (ids: readonly string[]) => void;
}

/**
 * Follows the project of a table.
 *
 * @param isQuiet - Whether rows may move: the list stands at its head, and no pointer is over it.
 */
export function useLiveRuns(asked: Asked, isQuiet: boolean): LiveRuns {
  const client = useQueryClient();
  const key = runsKey(asked);
  const place = JSON.stringify(key);
  // What waits belongs to one question; another one begins with nothing.
  const [held, setHeld] = useState({ place, waiting: NOTHING });
  const waiting = held.place === place ? held.waiting : NOTHING;
  const gathering = useRef<Gathering>(undefined);

  const setWaiting = (next: Waiting): void => {
    setHeld({ place, waiting: next });
  };

  const take = useEffectEvent((from: string, ids: string[], rows: RunRow[]) => {
    const data = client.getQueryData<Loaded>(key);
    if (from !== place || data === undefined) return;
    const news = { asked: ids, answered: rows, sort: asked.sort };
    const merged = merge(data.pages, waiting, news);
    client.setQueryData<Loaded>(key, { ...data, pages: merged.pages });
    setWaiting(merged.waiting);
  });

  const read = useEffectEvent(async (ids: string[]) => {
    if (client.getQueryData<Loaded>(key) === undefined) return;
    take(place, ids, await readRuns(asked, ids));
  });

  const readHead = useEffectEvent(async () => {
    if (client.getQueryData<Loaded>(key) === undefined) return;
    const { runs } = await readPage(asked, { cursor: null, limit: HEAD_ROWS });
    const ids = runs.map(({ id }) => id);
    take(place, ids, runs);
  });

  useEffect(() => {
    const made = new Gathering((ids) => read(ids));
    gathering.current = made;
    return () => {
      made.clear();
    };
  }, []);

  const connection = useStream(projectStream(asked.project), (news) => {
    if (news.type === "gap") {
      setWaiting({ ...waiting, isOutOfOrder: true });
    } else if (news.type === "frame" && news.kind === "runs") {
      const { runs, deleted, is_partial } = news.data as ProjectFrame;
      const waits = gathering.current?.size ?? 0;
      if (is_partial || waits + runs.length + deleted.length > IDS_MAX) {
        setWaiting({ ...waiting, isOutOfOrder: true });
      } else {
        gathering.current?.add([...runs, ...deleted]);
      }
    }
  });

  useEffect(() => {
    // Only now are changes told: what came between the answer and this is in the head of the list.
    if (connection !== "live") return;
    const soon = setTimeout(() => {
      readHead().catch(() => undefined);
    }, HEAD_MS);
    return () => {
      clearTimeout(soon);
    };
  }, [connection]);

  const show = (): void => {
    const data = client.getQueryData<Loaded>(key);
    if (data === undefined || isNothing(waiting)) return;
    const isHead = isNewestFirst(asked.sort) && !waiting.isOutOfOrder;
    const isLess = waiting.fresh.length === 0 && !waiting.isOutOfOrder;
    if (isHead || isLess) {
      client.setQueryData<Loaded>(key, {
        ...data,
        pages: isHead ? settle(data.pages, waiting) : without(data.pages, waiting.gone),
      });
    } else {
      client.setQueryData<Loaded>(key, {
        pages: data.pages.slice(0, 1),
        pageParams: data.pageParams.slice(0, 1),
      });
      void client.invalidateQueries({ queryKey: key });
    }
    setWaiting(NOTHING);
  };

  const showIfQuiet = useEffectEvent(() => {
    if (isQuiet) show();
  });
  const isWaiting = !isNothing(waiting);
  const { isOutOfOrder } = waiting;
  useEffect(() => {
    if (!isQuiet || !isWaiting) return;
    const soon = setTimeout(showIfQuiet, isOutOfOrder ? ORDER_MS : 0);
    return () => {
      clearTimeout(soon);
    };
  }, [isQuiet, isWaiting, isOutOfOrder]);

  const remove = (ids: readonly string[]): void => {
    const data = client.getQueryData<Loaded>(key);
    if (data === undefined) return;
    client.setQueryData<Loaded>(key, { ...data, pages: without(data.pages, new Set(ids)) });
  };
  const renew = (ids: readonly string[]): void => {
    gathering.current?.add(ids);
  };

  return { connection, waiting, show, remove, renew };
}

async function readRuns(asked: Asked, ids: readonly string[]): Promise<RunRow[]> {
  const rows: RunRow[] = [];
  for (let at = 0; at < ids.length; at += IDS_OF_REQUEST) {
    const some = ids.slice(at, at + IDS_OF_REQUEST);
    const filters = [...asked.filters, `id IN (${some.join(", ")})`];
    rows.push(...(await readPage(asked, { cursor: null, limit: some.length, filters })).runs);
  }
  return rows;
}
