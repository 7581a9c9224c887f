import fc from "fast-check";
import { expect, test } from "vitest";
import { dataFromCurve } from "@/charts/columns";
import {
  clippedExtent,
  countNonfinite,
  countOutside,
  countWithoutPlace,
  valueExtent,
} from "@/charts/extent";
import { LINEAR, LOG, padded, panned, pixels, zoomed, type Range } from "@/charts/scales";

const ALL: Range = [-Infinity, Infinity];

function ofPoints(values: readonly (number | "NaN" | "Infinity" | "-Infinity")[]) {
  return dataFromCurve({
    key: "loss",
    labels: {},
    attempt: null,
    points_total: values.length,
    points: values.map((value, step) => [step, 0, value]),
  });
}

test("without clipping nothing finite is outside", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true, noDefaultInfinity: true })), (values) => {
      const data = ofPoints(values);
      const extent = valueExtent([data], ALL, LINEAR);
      expect(extent === null).toBe(values.length === 0);
      if (extent !== null) expect(countOutside(data, ALL, extent).count).toBe(0);
    }),
  );
});

test("what clipping leaves out is counted exactly where points are known", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1 }),
      (values) => {
        const data = ofPoints(values);
        const [low, high] = clippedExtent([data], ALL, LINEAR) ?? [NaN, NaN];
        const outside = values.filter((value) => value < low || value > high).length;
        expect(countOutside(data, ALL, [low, high])).toEqual({ count: outside, isAtLeast: false });
      },
    ),
  );
});

test("one wild point among a hundred is clipped, and said to be", () => {
  const values = [...Array.from({ length: 100 }, (_, at) => at % 10), 1e9];
  const extent = clippedExtent([ofPoints(values)], ALL, LINEAR);
  expect(extent?.[1]).toBeLessThan(100);
  expect(countOutside(ofPoints(values), ALL, extent ?? ALL).count).toBe(1);
});

test("of a bucket that is cut only a lower limit is known", () => {
  const data = dataFromCurve({
    key: "loss",
    labels: {},
    attempt: null,
    points_total: 100,
    buckets: [
      {
        ...{ first_step: 0, last_step: 99, first: 1, last: 1, min: -1, max: 50, mean: 1 },
        ...{ count: 100, nonfinite_count: 4, nan_count: 3, infinity_count: 1 },
      },
    ],
  });
  expect(countOutside(data, ALL, [0, 10])).toEqual({ count: 2, isAtLeast: true });
  expect(countOutside(data, ALL, [60, 70])).toEqual({ count: 96, isAtLeast: false });
  expect(countWithoutPlace(data, ALL, LOG)).toEqual({ count: 1, isAtLeast: true });
  expect(countNonfinite(data, ALL)).toEqual({ nans: 3, plusInfinities: 1, minusInfinities: 0 });
});

test("what a logarithmic axis has no place for is counted", () => {
  const data = ofPoints([1, 0, -2, 3, "NaN"]);
  expect(countWithoutPlace(data, ALL, LOG)).toEqual({ count: 2, isAtLeast: false });
  expect(valueExtent([data], ALL, LOG)).toEqual([1, 3]);
});

test("room around a stretch keeps it inside; of one value too", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true }), fc.double({ noNaN: true }), (a, b) => {
      fc.pre(Number.isFinite(a) && Number.isFinite(b));
      const [low, high] = padded([Math.min(a, b), Math.max(a, b)]);
      expect(low).toBeLessThanOrEqual(Math.min(a, b));
      expect(high).toBeGreaterThanOrEqual(Math.max(a, b));
    }),
  );
  expect(padded([5, 5])).toEqual([4.5, 5.5]);
  expect(padded([0, 0])).toEqual([-1, 1]);
});

test("what is not finite has no pixel, and what is far beyond the edge is cut", () => {
  const toPixel = pixels([0, 1], 10, 100);
  expect([toPixel(0), toPixel(1), toPixel(Infinity), toPixel(-Infinity), toPixel(NaN)]).toEqual([
    10,
    110,
    NaN,
    NaN,
    NaN,
  ]);
  expect(Math.abs(toPixel(1e300))).toBeLessThan(10_000);
});

test("every place of a stretch lies in its pixels, however narrow or wide it is", () => {
  const place = fc.double({ noNaN: true, noDefaultInfinity: true });
  fc.assert(
    fc.property(place, place, place, (a, b, c) => {
      const [low, middle, high] = [a, b, c].sort((one, other) => one - other) as [
        number,
        number,
        number,
      ];
      const at = pixels([low, high], 10, 100)(middle);
      expect(at).toBeGreaterThanOrEqual(10 - 1e-9);
      expect(at).toBeLessThanOrEqual(110 + 1e-9);
    }),
  );
  const narrow = pixels([1e-300, 1.0000000000000002e-300], 10, 200);
  expect([narrow(1e-300), narrow(1.0000000000000002e-300)]).toEqual([10, 210]);
});

test("moving and zooming stay within limits", () => {
  expect(panned([2, 4], 0.5, [0, 10])).toEqual([3, 5]);
  expect(panned([8, 10], 0.5, [0, 10])).toEqual([8, 10]);
  expect(panned([0, 2], -0.5, [0, 10])).toEqual([0, 2]);
  expect(zoomed([0, 10], 5, 0.5, [0, 10])).toEqual([2.5, 7.5]);
  expect(zoomed([2.5, 7.5], 5, 4, [0, 10])).toEqual([0, 10]);
});
