/** A few places for work that would else be done all at once; who came last is first in its turn. */
export class Places {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Does work when a place is free; what nobody waits for any more is not begun. */
  async with<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    if (this.#free === 0) await this.#turn(signal);
    else this.#free -= 1;
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      // The place goes to who waits, so that nobody comes between.
      const next = this.#waiting.pop();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(signal.reason instanceof Error ? signal.reason : new Error("no longer wanted"));
      };
      const begin = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(begin);
    });
  }
}
