/**
 * Does something now and then: never twice at a time, with a pause between, and once more behind what
 * came meanwhile. However often it is asked, what is asked last is done.
 */
export class Throttle {
  readonly #pauseMs: number;
  readonly #work: () => unknown;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isBusy = false;
  #isOwed = false;

  /**
   * @param pauseMs - From the end of the work to its next beginning.
   * @param work - Ends when the promise that it returns does; at once where it returns none.
   */
  constructor(pauseMs: number, work: () => unknown) {
    this.#pauseMs = pauseMs;
    this.#work = work;
  }

  /** Asks for the work: it is done now, or behind the pause after the work that is under way. */
  ask(): void {
    if (this.#isBusy) {
      this.#isOwed = true;
      return;
    }
    this.#isBusy = true;
    const done = this.#work();
    if (done instanceof Promise) done.then(this.#rest, this.#rest);
    else this.#rest();
  }

  /** Forgets what is owed. */
  end(): void {
    this.#isOwed = false;
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isBusy = false;
  }

  readonly #rest = (): void => {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#isBusy = false;
      if (!this.#isOwed) return;
      this.#isOwed = false;
      this.ask();
    }, this.#pauseMs);
  };
}
