/**
 * What the worker follows for one tab: until the tab leaves, or says nothing for too long.
 *
 * A machine that slept and a tab that was frozen say nothing either, and come back. Whatever they
 * say then begins their streams anew, with a gap: what happened meanwhile was not told.
 */
import type { StreamHub } from "@/state/stream_hub";
import { SILENCE_SECONDS, type FromWorker, type ToWorker } from "@/state/stream_messages";

export class StreamTab {
  readonly #hub: Pick<StreamHub, "follow">;
  readonly #say: (message: FromWorker) => void;
  readonly #leaves = new Map<string, () => void>();
  /** When the tab last spoke, in milliseconds; null while nothing is followed for it. */
  #heard: number | null = null;

  constructor(hub: Pick<StreamHub, "follow">, say: (message: FromWorker) => void) {
    this.#hub = hub;
    this.#say = say;
  }

  /** @param now - In milliseconds, of the clock that `look` is told. */
  hear(message: ToWorker, now: number): void {
    this.#heard = now;
    switch (message.type) {
      case "follow":
        this.#follow(message.path, false);
        break;
      case "leave":
        this.#leave(message.path);
        break;
      case "beat":
        for (const path of [...this.#leaves.keys()]) {
          if (!message.paths.includes(path)) this.#leave(path);
        }
        for (const path of message.paths) this.#follow(path, true);
        break;
      case "end":
        this.#end();
    }
  }

  /** Gives up a tab that has been silent for too long, says so to it, and returns whether it did. */
  look(now: number): boolean {
    if (this.#heard === null || now - this.#heard <= SILENCE_SECONDS * 1000) return false;
    this.#end();
    this.#say({ type: "ended" });
    return true;
  }

  /** @param isAgain - Whether the tab believes that it follows the path already. */
  #follow(path: string, isAgain: boolean): void {
    if (this.#leaves.has(path)) return;
    let isOwed = isAgain;
    const leave = this.#hub.follow(path, (news) => {
      this.#say({ type: "news", path, news });
      // Told earlier, the gap would be read over before the stream tells what comes after it.
      if (!isOwed || news.type !== "state" || news.state !== "live") return;
      isOwed = false;
      this.#say({ type: "news", path, news: { type: "gap" } });
    });
    this.#leaves.set(path, leave);
  }

  #leave(path: string): void {
    this.#leaves.get(path)?.();
    this.#leaves.delete(path);
  }

  #end(): void {
    this.#heard = null;
    for (const leave of this.#leaves.values()) leave();
    this.#leaves.clear();
  }
}
