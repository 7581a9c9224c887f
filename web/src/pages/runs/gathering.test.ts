import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Gathering } from "@/pages/runs/gathering";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("many changes are one request, and requests have pauses", async () => {
  const asked: string[][] = [];
  const gathering = new Gathering((ids) => {
    asked.push(ids);
    return Promise.resolve();
  });
  gathering.add(["a", "b"]);
  gathering.add(["b", "c"]);
  await vi.advanceTimersByTimeAsync(200);
  expect(asked).toEqual([["a", "b", "c"]]);
  gathering.add(["a"]);
  await vi.advanceTimersByTimeAsync(500);
  expect(asked).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(600);
  expect(asked).toEqual([["a", "b", "c"], ["a"]]);
});

test("what could not be read is asked for again with the next news", async () => {
  const asked: string[][] = [];
  const gathering = new Gathering((ids) => {
    asked.push(ids);
    return asked.length === 1 ? Promise.reject(new Error("gone")) : Promise.resolve();
  });
  gathering.add(["a"]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(asked).toEqual([["a"]]);
  gathering.add(["b"]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(asked[1]).toEqual(["a", "b"]);
});

test("nothing is read behind the end", async () => {
  let count = 0;
  const gathering = new Gathering(() => {
    count += 1;
    return Promise.resolve();
  });
  gathering.add(["a"]);
  gathering.clear();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(count).toBe(0);
});
