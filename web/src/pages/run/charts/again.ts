/** When curves that stand already are read anew: what changed below their newest points tells no head. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { runStream, useStream } from "@/state/events";
import { isLive, type Run } from "@/state/run";
import type { RunFrame } from "@/state/run_events";

/** A run that logs more than a frame holds says so in each; its curves are read anew this often. */
const AGAIN_MS = 5_000;
/** Corrections come in a row. */
const FIRST_MS = 500;

export function useReadAgain(run: Run): void {
  const client = useQueryClient();
  const timer = useRef<number | undefined>(undefined);
  const latest = useRef(0);
  const readAgain = (): void => {
    if (timer.current !== undefined) return;
    timer.current = window.setTimeout(
      () => {
        timer.current = undefined;
        latest.current = Date.now();
        void client.invalidateQueries({ queryKey: ["curve", run.id] });
      },
      Math.max(FIRST_MS, latest.current + AGAIN_MS - Date.now()),
    );
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
    },
    [],
  );
}
