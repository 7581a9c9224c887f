/**
 * The worker that all tabs share: a browser opens six connections to a server and no more, and each
 * stream would keep one of them for each tab.
 */
import { StreamHub } from "@/state/stream_hub";
import type { FromWorker, ToWorker } from "@/state/stream_messages";
import { BEAT_SECONDS } from "@/state/stream_messages";

/** A tab that is gone says nothing; browsers let hidden ones speak once a minute. */
const SILENCE_SECONDS = 5 * BEAT_SECONDS;

const hub = new StreamHub();
const scope = self as unknown as { onconnect: ((event: MessageEvent) => void) | null };

scope.onconnect = (event) => {
  const port = event.ports[0];
  if (port === undefined) return;
  const leaves = new Map<string, () => void>();
  let heard = Date.now();
  const end = (): void => {
    clearInterval(watch);
    for (const leave of leaves.values()) leave();
    leaves.clear();
  };
  const watch = setInterval(() => {
    if (Date.now() - heard > SILENCE_SECONDS * 1000) end();
  }, BEAT_SECONDS * 1000);
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    heard = Date.now();
    if (data.type === "leave") {
      leaves.get(data.path)?.();
      leaves.delete(data.path);
    } else if (data.type === "follow" && !leaves.has(data.path)) {
      const { path } = data;
      const tell = (news: FromWorker["news"]): void => {
        port.postMessage({ path, news } satisfies FromWorker);
      };
      leaves.set(path, hub.follow(path, tell));
    } else if (data.type === "end") {
      end();
    }
  };
};
