/** A stream of the server's events that stays open, in a page or in the worker that serves all tabs. */

/** What the server names its frames; an `EventSource` hears only what it was told to listen for. */
const KINDS = ["runs", "status", "tracking", "log", "warning", "deleted"] as const;
type FrameKind = (typeof KINDS)[number];
export type StreamState = "connecting" | "live" | "lost";

/** What a follower of a stream hears. */
export type StreamNews =
  | { type: "frame"; kind: FrameKind; data: unknown }
  | { type: "state"; state: StreamState }
  /** The server answered, and not with a stream: the viewer may be signed out. */
  | { type: "refused" }
  /** The stream begins anew: what happened meanwhile was not told. */
  | { type: "gap" };

/** Waits before a stream is asked for again that the server has refused. */
const WAIT_SECONDS = [1, 2, 5, 10, 30] as const;

/** Returns how long to wait before a try with a number from 0. */
export function waitSeconds(tries: number): number {
  return WAIT_SECONDS[Math.min(tries, WAIT_SECONDS.length - 1)] ?? 30;
}

/** Follows a path of the server until `close`. */
export class Stream {
  state: StreamState = "connecting";
  readonly #path: string;
  readonly #tell: (news: StreamNews) => void;
  #source: EventSource | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #tries = 0;
  #wasLive = false;

  constructor(path: string, tell: (news: StreamNews) => void) {
    this.#path = path;
    this.#tell = tell;
    this.#open();
    // A network that went away ends no connection by itself.
    globalThis.addEventListener("offline", this.#onOffline);
    globalThis.addEventListener("online", this.#onOnline);
  }

  close(): void {
    globalThis.removeEventListener("offline", this.#onOffline);
    globalThis.removeEventListener("online", this.#onOnline);
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  readonly #onOffline = (): void => {
    this.#become("lost");
  };

  readonly #onOnline = (): void => {
    this.#tries = 0;
    this.#open();
  };

  #open(): void {
    clearTimeout(this.#timer);
    this.#source?.close();
    const source = new EventSource(this.#path);
    this.#source = source;
    // Only the browser's own new tries send Last-Event-ID; a stream that we open begins anew.
    let isOwed = this.#wasLive;
    source.onopen = () => {
      this.#tries = 0;
      this.#wasLive = true;
      this.#become("live");
      if (isOwed) this.#tell({ type: "gap" });
      isOwed = false;
    };
    source.onerror = () => {
      this.#become(this.#wasLive || this.#tries > 0 ? "lost" : "connecting");
      if (source.readyState !== EventSource.CLOSED) return;
      this.#tell({ type: "refused" });
      this.#timer = setTimeout(
        () => {
          this.#open();
        },
        waitSeconds(this.#tries) * 1000,
      );
      this.#tries += 1;
    };
    for (const kind of KINDS) {
      source.addEventListener(kind, (event: MessageEvent<string>) => {
        this.#tell({ type: "frame", kind, data: JSON.parse(event.data) as unknown });
      });
    }
  }

  #become(state: StreamState): void {
    if (this.state === state) return;
    this.state = state;
    this.#tell({ type: "state", state });
  }
}
