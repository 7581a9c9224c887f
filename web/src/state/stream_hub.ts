/** Who follows which stream: one connection for each path, however many follow it. */
import { Stream, type StreamNews } from "@/state/stream";

export type Tell = (news: StreamNews) => void;

/** What a hub needs of a stream. */
type Open = (path: string, tell: Tell) => Pick<Stream, "state" | "close">;

export class StreamHub {
  readonly #open: Open;
  readonly #places = new Map<string, { stream: ReturnType<Open>; followers: Set<Tell> }>();

  constructor(open: Open = (path, tell) => new Stream(path, tell)) {
    this.#open = open;
  }

  /** Follows a path; the first thing that is told is where its stream stands. */
  follow(path: string, tell: Tell): () => void {
    let place = this.#places.get(path);
    if (place === undefined) {
      const followers = new Set<Tell>();
      const stream = this.#open(path, (news) => {
        for (const follower of [...followers]) follower(news);
      });
      place = { stream, followers };
      this.#places.set(path, place);
    }
    const { stream, followers } = place;
    followers.add(tell);
    tell({ type: "state", state: stream.state });
    return () => {
      if (!followers.delete(tell) || followers.size > 0) return;
      stream.close();
      this.#places.delete(path);
    };
  }
}
