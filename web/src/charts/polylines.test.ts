import fc from "fast-check";
import { expect, test } from "vitest";
import type { Schemas } from "@/api/client";
import { dataFromCurve } from "@/charts/columns";
import {
  envelope,
  nonfiniteMarks,
  projected,
  singlePoints,
  valueLine,
  type Projection,
} from "@/charts/polylines";
import { LINEAR, LOG } from "@/charts/scales";

const ALL: Projection = {
  x: (value) => value,
  y: (value) => -value,
  seen: [-Infinity, Infinity],
};
const CURVE = { key: "loss", labels: {}, attempt: null };

function bucket(first: number, last: number, values: readonly number[]): Schemas["Bucket"] {
  return {
    first_step: first,
    last_step: last,
    first: values[0] ?? NaN,
    last: values.at(-1) ?? NaN,
    min: Math.min(...values),
    max: Math.max(...values),
    count: values.length,
    nonfinite_count: 0,
    nan_count: 0,
    infinity_count: 0,
    mean: values.reduce((sum, value) => sum + value, 0) / values.length,
  };
}

function ofPoints(values: readonly (number | "NaN" | "Infinity" | "-Infinity")[]) {
  return dataFromCurve({
    ...CURVE,
    points_total: values.length,
    points: values.map((value, step) => [step, 0, value]),
  });
}

function pieces(path: readonly number[]): number[][] {
  const found: number[][] = [[]];
  for (let at = 0; at < path.length; at += 2) {
    if (Number.isNaN(path[at])) found.push([]);
    else found.at(-1)?.push(path[at] as number, path[at + 1] as number);
  }
  return found.filter((piece) => piece.length > 0);
}

test("a line breaks where a value is not finite, and nowhere else", () => {
  const path = valueLine(ofPoints([1, 2, "NaN", 3, "Infinity", "-Infinity", 4, 5]), ALL);
  expect(pieces(path)).toEqual([
    [0, -1, 1, -2],
    [3, -3],
    [6, -4, 7, -5],
  ]);
});

test("the line lies inside the band, and the band reaches every extreme", () => {
  const buckets = fc.array(
    fc.array(fc.double({ min: -100, max: 100, noNaN: true }), { minLength: 2, maxLength: 9 }),
    { minLength: 1, maxLength: 20 },
  );
  fc.assert(
    fc.property(buckets, (parts) => {
      const data = dataFromCurve({
        ...CURVE,
        points_total: parts.flat().length,
        buckets: parts.map((values, at) => bucket(at * 10, at * 10 + 8, values)),
      });
      const band = envelope(data, ALL, 0).filter((place) => !Number.isNaN(place));
      parts.forEach((values, at) => {
        const heights = band.filter(
          (_, place) => place % 2 === 1 && band[place - 1] === at * 10 + 8,
        );
        expect(Math.min(...heights)).toBe(-Math.max(...values));
        expect(Math.max(...heights)).toBe(-Math.min(...values));
      });
      const line = valueLine(data, ALL);
      expect(line.length).toBe(parts.length * 4);
    }),
  );
});

test("a band ends where buckets are empty", () => {
  const parts = [bucket(0, 9, [1, 2]), bucket(10, 19, [1, 3]), bucket(50, 59, [2, 4])];
  const data = dataFromCurve({ ...CURVE, points_total: 6, buckets: parts });
  expect(pieces(envelope(data, ALL, 0)).length).toBe(2);
});

test("single points have no band, and are dots where they stand alone or far apart", () => {
  expect(envelope(ofPoints([1, 2, 3]), ALL, 0)).toEqual([]);
  expect(singlePoints(ofPoints([1, 2, 3]), ALL, 5)).toEqual([]);
  expect(singlePoints(ofPoints([1, 2, 3]), ALL, 0.5).length).toBe(6);
  expect(singlePoints(ofPoints([1, 2, "NaN", 7, "NaN", 3]), ALL, 5)).toEqual([3, -7, 5, -3]);
});

test("what is not finite is marked by its kind; marks that touch are one", () => {
  const data = ofPoints(["NaN", "NaN", 0, 0, 0, "Infinity", 0, 0, 0, "-Infinity"]);
  expect(nonfiniteMarks(data, ALL).map(({ kind, x }) => [kind, x])).toEqual([
    ["nan", 0],
    ["plus", 5],
    ["minus", 9],
  ]);
});

test("on a logarithmic axis a line breaks at what has no place, and a band reaches the edge", () => {
  const log: Projection = {
    x: projected(LINEAR, (place) => place),
    y: projected(LOG, (place) => -place),
    seen: ALL.seen,
  };
  expect(pieces(valueLine(ofPoints([10, 0, 100, -1, 1000]), log)).length).toBe(3);
  const data = dataFromCurve({ ...CURVE, points_total: 2, buckets: [bucket(0, 9, [-5, 100])] });
  const heights = envelope(data, log, 77).filter((_, at) => at % 2 === 1);
  expect(new Set(heights.filter((height) => !Number.isNaN(height)))).toEqual(new Set([-2, 77]));
});
