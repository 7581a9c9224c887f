/** Gathers what has changed, so that many changes are one request, and requests have pauses. */

/** Changes are gathered so long before they are asked for. */
const GATHER_MS = 150;
/** They are asked for no more often. */
const PAUSE_MS = 1_000;

export class Gathering {
  readonly #read: (ids: string[]) => Promise<void>;
  readonly #waiting = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #readAt = -Infinity;
  #isReading = false;

  constructor(read: (ids: string[]) => Promise<void>) {
    this.#read = read;
  }

  get size(): number {
    return this.#waiting.size;
  }

  add(ids: Iterable<string>): void {
    for (const id of ids) this.#waiting.add(id);
    this.#schedule();
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting.clear();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#isReading || this.#waiting.size === 0) return;
    const pause = Math.max(GATHER_MS, this.#readAt + PAUSE_MS - Date.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const ids = [...this.#waiting];
      this.#waiting.clear();
      this.#isReading = true;
      this.#readAt = Date.now();
      const done = (): void => {
        this.#isReading = false;
        this.#schedule();
      };
      // What could not be read is asked for with the next news.
      this.#read(ids).then(done, () => {
        for (const id of ids) this.#waiting.add(id);
        this.#isReading = false;
      });
    }, pause);
  }
}
