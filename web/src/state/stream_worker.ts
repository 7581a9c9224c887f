/**
 * The worker that all tabs share: a browser opens six connections to a server and no more, and each
 * stream would keep one of them for each tab.
 */
import { StreamHub } from "@/state/stream_hub";
import { BEAT_SECONDS, type FromWorker, type ToWorker } from "@/state/stream_messages";
import { StreamTab } from "@/state/stream_tab";

const hub = new StreamHub();
const scope = self as unknown as { onconnect: ((event: MessageEvent) => void) | null };

scope.onconnect = (event) => {
  const port = event.ports[0];
  if (port === undefined) return;
  const tab = new StreamTab(hub, (message: FromWorker) => {
    port.postMessage(message);
  });
  let watch: ReturnType<typeof setInterval> | undefined;
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    tab.hear(data, Date.now());
    // No clock runs for a tab that is gone.
    if (data.type === "end") {
      clearInterval(watch);
      watch = undefined;
      return;
    }
    watch ??= setInterval(() => {
      if (!tab.look(Date.now())) return;
      clearInterval(watch);
      watch = undefined;
    }, BEAT_SECONDS * 1000);
  };
};
