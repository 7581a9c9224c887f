import fc from "fast-check";
import { expect, test } from "vitest";
import { dataFromCurve } from "@/charts/columns";
import { averageBefore, smooth } from "@/charts/smoothing";

type Wire = number | "NaN" | "Infinity" | "-Infinity";

function ofValues(values: readonly Wire[]) {
  return dataFromCurve({
    key: "loss",
    labels: {},
    attempt: null,
    points_total: values.length,
    points: values.map((value, step) => [step, 0, value]),
  });
}

const values = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1 });
const weight = fc.double({ min: 0, max: 0.999, noNaN: true });

test("a constant is its own average from the first point on", () => {
  const data = ofValues([4, 4, 4, 4]);
  for (const value of smooth(data, 0.99)) expect(value).toBeCloseTo(4, 12);
});

test("an average without a weight is the curve", () => {
  fc.assert(
    fc.property(values, (found) => {
      const smoothed = smooth(ofValues(found), 0);
      // 0 and −0 are one value.
      expect(found.every((value, at) => smoothed[at] === value)).toBe(true);
    }),
  );
});

test("an average lies between the extremes so far", () => {
  fc.assert(
    fc.property(values, weight, (found, kept) => {
      const smoothed = smooth(ofValues(found), kept);
      const room = 1e-9 * Math.max(...found.map(Math.abs), 1);
      smoothed.forEach((value, at) => {
        const before = found.slice(0, at + 1);
        expect(value).toBeGreaterThanOrEqual(Math.min(...before) - room);
        expect(value).toBeLessThanOrEqual(Math.max(...before) + room);
      });
    }),
  );
});

test("what is not finite neither moves an average nor has one", () => {
  const smoothed = smooth(ofValues([1, "NaN", "Infinity", 3]), 0.5);
  const without = smooth(ofValues([1, 3]), 0.5);
  expect([smoothed[0], smoothed[3]]).toEqual([...without]);
  expect([smoothed[1], smoothed[2]]).toEqual([NaN, NaN]);
});

test("an average that goes on from the part before is the average of the whole", () => {
  fc.assert(
    fc.property(values, weight, fc.nat(), (found, kept, cut) => {
      const whole = ofValues(found);
      const at = cut % found.length;
      const rest = dataFromCurve({
        key: "loss",
        labels: {},
        attempt: null,
        points_total: found.length - at,
        points: found.slice(at).map((value, step) => [step + at, 0, value]),
      });
      const joined = smooth(rest, kept, averageBefore(whole, kept, at));
      expect([...joined]).toEqual([...smooth(whole, kept)].slice(at));
    }),
  );
});

test("a bucket of equal points moves an average as the points do", () => {
  const points = smooth(ofValues([0, ...Array.from({ length: 50 }, () => 7)]), 0.9);
  const bucket = {
    ...{ first_step: 1, last_step: 50, first: 7, last: 7, min: 7, max: 7, mean: 7 },
    ...{ count: 50, nonfinite_count: 0, nan_count: 0, infinity_count: 0 },
  };
  const start = {
    ...{ first_step: 0, last_step: 0, first: 0, last: 0, min: 0, max: 0, mean: 0 },
    ...{ count: 1, nonfinite_count: 0, nan_count: 0, infinity_count: 0 },
  };
  const buckets = dataFromCurve({
    key: "loss",
    labels: {},
    attempt: null,
    points_total: 51,
    buckets: [start, bucket],
  });
  expect(smooth(buckets, 0.9)[1]).toBeCloseTo(points[50] ?? NaN, 12);
});
