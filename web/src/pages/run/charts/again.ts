/** When curves that stand already are read anew: what changed below their newest points tells no head. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { runStream, useStream } from "@/state/events";
import { isLive, type Run } from "@/state/run";
import type { RunFrame } from "@/state/run_events";
import { Throttle } from "@/state/throttle";

/** A run that logs more than a frame holds says so in each; so long its curves stay as they were read. */
const PAUSE_MS = 5_000;
/** Corrections come in a row. */
const FIRST_MS = 500;

export function useReadAgain(run: Run): void {
  const client = useQueryClient();
  const throttle = useMemo(
    () => new Throttle(PAUSE_MS, () => client.invalidateQueries({ queryKey: ["curve", run.id] })),
    [client, run.id],
  );
  const timer = useRef<number | undefined>(undefined);
  const readAgain = (): void => {
    timer.current ??= window.setTimeout(() => {
      timer.current = undefined;
      throttle.ask();
    }, FIRST_MS);
  };
  useStream(runStream(run.id), (news) => {
    if (news.type === "gap") readAgain();
    if (news.type !== "frame") return;
    const frame = news.data as RunFrame;
    if (frame.type === "tracking" && frame.is_partial) readAgain();
  });
  const isGoing = isLive(run);
  const wasGoing = useRef(isGoing);
  useEffect(() => {
    // Points that came late are there when the run has ended.
    if (wasGoing.current && !isGoing) {
      void client.invalidateQueries({ queryKey: ["curve", run.id] });
    }
    wasGoing.current = isGoing;
  }, [client, run.id, isGoing]);
  useEffect(
    () => () => {
      window.clearTimeout(timer.current);
      timer.current = undefined;
      throttle.end();
    },
    [throttle],
  );
}
