import { expect, test } from "vitest";
import { spansOf } from "@/timeline/spans";
import { spanTowards } from "@/timeline/walking";

const ORIGIN = 1_790_000_000_000_000_000;
const [first, inner, second] = [0, 1, 2];
const spans = spansOf(
  [
    { name: "a", start_ns: ORIGIN, duration_ns: 100_000, depth: 0 },
    { name: "a/b", start_ns: ORIGIN + 10_240, duration_ns: 1_024, depth: 1 },
    { name: "a", start_ns: ORIGIN + 204_800, duration_ns: 100_000, depth: 0 },
  ].map((span) => ({ stream: "", rank: 0, track: 0, step: null, ...span })),
);

test("keys walk along a row, into a span and out of it, and stay where there is nothing", () => {
  expect(spanTowards(spans, null, "behind")).toBe(first);
  expect(spanTowards(spans, first, "behind")).toBe(second);
  expect(spanTowards(spans, second, "behind")).toBe(second);
  expect(spanTowards(spans, second, "before")).toBe(first);
  expect(spanTowards(spans, first, "inside")).toBe(inner);
  expect(spanTowards(spans, inner, "around")).toBe(first);
  expect(spanTowards(spans, second, "inside")).toBe(second);
});
