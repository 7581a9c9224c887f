import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Throttle } from "@/state/throttle";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("the first is done at once, all that come in a while once at its end", () => {
  let count = 0;
  const throttle = new Throttle(1_000, () => {
    count += 1;
  });
  throttle.ask();
  expect(count).toBe(1);
  for (let at = 0; at < 10; at += 1) throttle.ask();
  expect(count).toBe(1);
  vi.advanceTimersByTime(1_000);
  expect(count).toBe(2);
  vi.advanceTimersByTime(10_000);
  expect(count).toBe(2);
  throttle.ask();
  expect(count).toBe(3);
});

test("what has ended does nothing more", () => {
  let count = 0;
  const throttle = new Throttle(1_000, () => {
    count += 1;
  });
  throttle.ask();
  throttle.ask();
  throttle.end();
  vi.advanceTimersByTime(10_000);
  expect(count).toBe(1);
});

test("work that takes long is not begun again before it has ended, and then once", async () => {
  const ends: (() => void)[] = [];
  const throttle = new Throttle(
    1_000,
    () =>
      new Promise<void>((resolve) => {
        ends.push(resolve);
      }),
  );
  for (let at = 0; at < 50; at += 1) {
    throttle.ask();
    await vi.advanceTimersByTimeAsync(200);
  }
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await vi.advanceTimersByTimeAsync(999);
  expect(ends).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(ends).toHaveLength(2);
  ends[1]?.();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(ends).toHaveLength(2);
});

test("work that fails is done again when it is asked for", async () => {
  let count = 0;
  const throttle = new Throttle(1_000, () => {
    count += 1;
    return Promise.reject(new Error("no answer"));
  });
  throttle.ask();
  throttle.ask();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(count).toBe(2);
});
