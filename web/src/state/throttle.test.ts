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
