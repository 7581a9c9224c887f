import { expect, test } from "vitest";
import { ApiError } from "@/api/client";
import { type Found, mayPass, together } from "@/state/answers";

function found(data: number | null | undefined, error: Error | null = null): Found<number | null> {
  return { data, error, isFetching: error !== null, refetch: () => undefined };
}

test("answers together are there when all are, in their order, also those that say there is none", () => {
  expect(together([found(1), found(null), found(2)]).data).toEqual([1, null, 2]);
  expect(together([found(1), found(undefined)]).data).toBeUndefined();
  expect(together([]).data).toEqual([]);
});

test("a failure beside answers keeps the answers", () => {
  const error = new ApiError(0, null, "no answer");
  const all = together([found(1), found(2, error)]);
  expect(all.data).toEqual([1, 2]);
  expect(all.error).toBe(error);
  expect(all.isFetching).toBe(true);
  expect(together([found(undefined, error)]).data).toBeUndefined();
});

test("only what failed is read again", () => {
  const asked: string[] = [];
  const one = { ...found(1), refetch: () => asked.push("one") };
  const two = { ...found(2, new Error("x")), refetch: () => asked.push("two") };
  together([one, two]).refetch();
  expect(asked).toEqual(["two"]);
});

test.each([
  [new ApiError(0, null, ""), true],
  [new ApiError(503, null, ""), true],
  [new ApiError(401, null, ""), false],
  [new ApiError(404, null, ""), false],
  [new TypeError("a defect of ours"), false],
])("%j may pass by itself: %j", (error, expected) => {
  expect(mayPass(error)).toBe(expected);
});
