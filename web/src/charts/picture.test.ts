import { expect, test } from "vitest";
import { dataFromCurve, type CurveData } from "@/charts/columns";
import { drawnLines, entryText, notesOf, viewOf, wholeExtent, type Look } from "@/charts/picture";
import { PLAIN } from "@/charts/settings";

const LOOK: Look = { settings: PLAIN, seen: null, scheme: "light", focus: null };

function ofPoints(values: readonly (number | "NaN" | "Infinity" | "-Infinity")[]): CurveData {
  return dataFromCurve({
    key: "loss",
    labels: {},
    attempt: null,
    points_total: values.length,
    points: values.map((value, step) => [step, 0, value]),
  });
}

const BUCKETS = dataFromCurve({
  key: "loss",
  labels: {},
  attempt: null,
  points_total: 200,
  buckets: [0, 100].map((first) => ({
    ...{ first_step: first, last_step: first + 99, first: 1, last: 2, min: 0.5, max: 8 },
    ...{ count: 100, nonfinite_count: 3, nan_count: 2, infinity_count: 1, mean: 1.5 },
  })),
});

function drawn(data: CurveData, look = LOOK) {
  const source = {
    ...{ id: "a", run: "run_1", key: "loss", labels: {}, attempt: null, name: "a", colour: 0 },
    head: null,
  };
  return drawnLines([{ source, data, overview: data, error: null, isLoading: false }], look);
}

function notes(data: CurveData, look = LOOK): readonly string[] {
  const lines = drawn(data, look);
  const { points, missing } = notesOf(lines, viewOf(lines, look));
  return [points, ...missing];
}

test("a chart tells how many points are behind it, and whether each is drawn", () => {
  expect(notes(ofPoints([1, 2, 3]))).toEqual(["3 points, exact"]);
  expect(notes(ofPoints([1]))).toEqual(["1 point, exact"]);
  expect(notes(BUCKETS)).toEqual(["200 points, in buckets of min to max", "4 NaN ×", "2 +∞ ▲"]);
});

test("a chart tells what it leaves out", () => {
  const log = { ...LOOK, settings: { ...PLAIN, isLogX: true, isLogY: true } };
  expect(notes(ofPoints([1, 2, 0, -1, "-Infinity"]), log)).toEqual([
    "4 points, exact",
    "2 ≤ 0: not on a log axis",
    "1 at or left of 0: not on a log axis",
    "1 −∞ ▼",
  ]);
  const clipped = { ...LOOK, settings: { ...PLAIN, isClipped: true } };
  const spike = [...Array.from({ length: 99 }, (_, at) => at % 7), 1e6];
  expect(notes(ofPoints(spike), clipped)).toEqual([
    "100 points, exact",
    "1 outside the clipped range",
  ]);
  expect(notes({ ...ofPoints([1]), withoutX: 5 })).toContain("5 without a place on this axis");
});

test("a view of nothing finite has no numbers to tell, and one of no points is none", () => {
  expect(viewOf(drawn(ofPoints(["NaN", "Infinity"])), LOOK)?.hasValues).toBe(false);
  expect(viewOf(drawn(ofPoints([])), LOOK)).toBeNull();
  expect(wholeExtent([ofPoints([1, 2, 3])], true)).toEqual([1, 2]);
});

test("an entry tells its value, or what its points span", () => {
  expect(entryText(ofPoints(["NaN"]), 0)).toBe("NaN");
  expect(entryText(ofPoints([0.25]), 0)).toBe("0.25");
  expect(entryText(BUCKETS, 0)).toBe("0.5 … 8, 2 NaN, 1 +∞");
});
