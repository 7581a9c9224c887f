/** Does something at most once in a while, and once more behind what came meanwhile. */
export class Throttle {
  readonly #everyMs: number;
  readonly #work: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOwed = false;

  constructor(everyMs: number, work: () => void) {
    this.#everyMs = everyMs;
    this.#work = work;
  }

  /** Asks for the work: it is done now, or at the end of the while that runs. */
  ask(): void {
    if (this.#timer !== undefined) {
      this.#isOwed = true;
      return;
    }
    this.#work();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (!this.#isOwed) return;
      this.#isOwed = false;
      this.ask();
    }, this.#everyMs);
  }

  /** Forgets what is owed. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isOwed = false;
  }
}
