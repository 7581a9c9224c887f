import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RunRenewal } from "@/state/renewal";

const RUN = "run_1";
const SLOW_MS = 700;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A cache whose answer about the run takes long; each says how many were given before it began. */
function slow() {
  const cache = new QueryClient();
  let begun = 0;
  let thrownAway = 0;
  const observer = new QueryObserver(cache, {
    queryKey: ["run", RUN, "facts"],
    queryFn: async ({ signal }) => {
      begun += 1;
      const told = begun;
      await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
      if (signal.aborted) thrownAway += 1;
      return told;
    },
  });
  const leave = observer.subscribe(() => undefined);
  const facts = () => ({ begun, thrownAway, shown: observer.getCurrentResult().data });
  return { cache, leave, facts };
}

test("a run that changes all the time is read now and then, and its last change is read", async () => {
  const { cache, leave, facts } = slow();
  const renewal = new RunRenewal(cache, RUN);
  for (let frame = 0; frame < 50; frame += 1) {
    renewal.ask("all");
    await vi.advanceTimersByTimeAsync(200);
  }
  // Ten seconds: each reading takes 0.7 and rests for one.
  expect(facts().begun).toBeGreaterThanOrEqual(5);
  expect(facts().begun).toBeLessThanOrEqual(8);
  const before = facts().begun;
  renewal.ask(["facts"]);
  await vi.advanceTimersByTimeAsync(5_000);
  const { begun, thrownAway, shown } = facts();
  expect(thrownAway).toBe(0);
  expect(begun).toBeGreaterThan(before);
  expect(shown).toBe(begun);
  leave();
});

test("the first answer is shown although the run has changed meanwhile, and then read anew", async () => {
  const { cache, leave, facts } = slow();
  const renewal = new RunRenewal(cache, RUN);
  await vi.advanceTimersByTimeAsync(SLOW_MS / 2);
  renewal.ask("all");
  await vi.advanceTimersByTimeAsync(SLOW_MS / 2);
  expect(facts().shown).toBe(1);
  await vi.advanceTimersByTimeAsync(SLOW_MS);
  expect(facts()).toEqual({ begun: 2, thrownAway: 0, shown: 2 });
  leave();
});

test("parts are read anew, others are not", async () => {
  const cache = new QueryClient();
  for (const part of ["facts", "life", "params"]) cache.setQueryData(["run", RUN, part], part);
  const renewal = new RunRenewal(cache, RUN);
  renewal.ask(["facts", "life"]);
  await vi.advanceTimersByTimeAsync(0);
  const anew = ["facts", "life", "params"].map(
    (part) => cache.getQueryState(["run", RUN, part])?.isInvalidated,
  );
  expect(anew).toEqual([true, true, false]);
  renewal.end();
});
