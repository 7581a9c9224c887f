/** What is kept of a run is read anew, with a brake: a run that logs much says five times a second that it did. */
import type { QueryClient } from "@tanstack/react-query";
import { runKey } from "@/state/run";
import { Throttle } from "@/state/throttle";

/** From the end of a reading to the beginning of the next. */
const PAUSE_MS = 1_000;

/** Parts of a run, as the keys of its answers name them. */
type RunPart = "facts" | "life" | "attempts";

/** Reads parts of a run anew: one reading at a time, and once more behind what was asked for meanwhile. */
export class RunRenewal {
  readonly #cache: QueryClient;
  readonly #run: string;
  readonly #owed = new Set<RunPart>();
  readonly #throttle: Throttle;
  #isAllOwed = false;

  constructor(cache: QueryClient, run: string) {
    this.#cache = cache;
    this.#run = run;
    this.#throttle = new Throttle(PAUSE_MS, () => this.#read());
  }

  /** Asks for some parts, or for all that is kept of the run. */
  ask(parts: readonly RunPart[] | "all"): void {
    if (parts === "all") this.#isAllOwed = true;
    else for (const part of parts) this.#owed.add(part);
    this.#throttle.ask();
  }

  end(): void {
    this.#throttle.end();
  }

  #read(): Promise<unknown> {
    const key = runKey(this.#run);
    const keys = this.#isAllOwed ? [key] : [...this.#owed].map((part) => [...key, part]);
    this.#isAllOwed = false;
    this.#owed.clear();
    return Promise.all(keys.map((queryKey) => this.#renew(queryKey)));
  }

  /** An answer that is under way is not thrown away: a long one would never come. It is shown, then read anew. */
  async #renew(queryKey: readonly string[]): Promise<void> {
    const underWay = this.#cache.getQueryCache().findAll({ queryKey, fetchStatus: "fetching" });
    if (underWay.length > 0) {
      await Promise.allSettled(
        underWay.map(async (query) => {
          await query.promise;
        }),
      );
    }
    await this.#cache.invalidateQueries({ queryKey });
  }
}
