/** Lists and sums over the runs of a project stay what they are on the server while they are shown. */
import type { QueryKey } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import {
  projectStream,
  useStream,
  type ProjectFrame,
  type StreamNews,
  type StreamState,
} from "@/state/events";
import { queries } from "@/state/queries";
import { Throttle } from "@/state/throttle";

/** Sums cost the server more than a row does, and nobody reads faster. */
const PAUSE_MS = 2_000;

/**
 * Reads answers anew when the runs of a project change, and returns where the connection stands.
 *
 * @param project - Null follows nothing.
 * @param keys - The answers; what begins with one of them is read anew.
 * @param isMeant - Whether a frame concerns them; without it each does.
 */
export function useRefresh(
  project: string | null,
  keys: readonly QueryKey[],
  isMeant?: (frame: ProjectFrame) => boolean,
): StreamState {
  const name = JSON.stringify(keys);
  const throttle = useMemo(
    () =>
      new Throttle(PAUSE_MS, () =>
        Promise.all(
          (JSON.parse(name) as QueryKey[]).map((queryKey) =>
            queries.invalidateQueries({ queryKey }),
          ),
        ),
      ),
    [name],
  );
  useEffect(
    () => () => {
      throttle.end();
    },
    [throttle],
  );
  // Answers that were read before the stream began may lack what happened in between.
  const isBehind = useRef(false);
  return useStream(project === null ? null : projectStream(project), (news: StreamNews) => {
    if (news.type === "state") {
      if (news.state === "live" && isBehind.current) throttle.ask();
      isBehind.current = news.state === "connecting";
    }
    if (news.type === "gap") throttle.ask();
    if (news.type !== "frame" || news.kind !== "runs") return;
    const frame = news.data as ProjectFrame;
    if (isMeant === undefined || frame.is_partial || isMeant(frame)) throttle.ask();
  });
}
