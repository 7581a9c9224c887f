import fc from "fast-check";
import { expect, test } from "vitest";
import type { Schemas } from "@/api/client";
import {
  appendPoints,
  dataFromCurve,
  entriesIn,
  lastStepOf,
  nearestEntry,
  stepsIn,
} from "@/charts/columns";

const CURVE: Schemas["Curve"] = { key: "loss", labels: {}, attempt: null, points_total: 0 };

type Row = [number, number, number | "NaN" | "Infinity" | "-Infinity"];

function ofPoints(rows: readonly Row[], curve: Partial<Schemas["Curve"]> = {}) {
  return dataFromCurve({ ...CURVE, points_total: rows.length, points: [...rows], ...curve });
}

const ascending = fc
  .uniqueArray(fc.integer({ min: 0, max: 1_000 }))
  .map((steps) =>
    steps.sort((a, b) => a - b).map((step): Row => [step, step * 1_000_000, Math.sin(step)]),
  );

test("the words of the wire are the values that they name", () => {
  const data = ofPoints([
    [0, 0, "NaN"],
    [1, 0, "Infinity"],
    [2, 0, "-Infinity"],
    [3, 0, 0.5],
  ]);
  expect([...data.first]).toEqual([NaN, Infinity, -Infinity, 0.5]);
  expect([...data.low]).toEqual([NaN, NaN, NaN, 0.5]);
  expect([data.nans[0], data.plusInfinities[1], data.minusInfinities[2]]).toEqual([1, 1, 1]);
  expect(data.isExact).toBe(true);
});

test("a bucket keeps its extremes, its count and what in it is not finite", () => {
  const data = dataFromCurve({
    ...CURVE,
    points_total: 10,
    buckets: [
      {
        first_step: 3,
        last_step: 12,
        first: 1,
        last: "NaN",
        min: -4,
        max: 9,
        count: 10,
        nonfinite_count: 3,
        nan_count: 1,
        infinity_count: 2,
        mean: 0.5,
      },
    ],
  });
  expect([data.firstX[0], data.lastX[0], data.low[0], data.high[0], data.mean[0]]).toEqual([
    3, 12, -4, 9, 0.5,
  ]);
  expect([data.nans[0], data.plusInfinities[0], data.minusInfinities[0]]).toEqual([1, 2, 0]);
  expect(data.isExact).toBe(false);
});

test("points over another metric are ordered by it, and those without a place are counted", () => {
  const rows: Row[] = [0, 1, 2, 3].map((step) => [step, 0, step]);
  const data = ofPoints(rows, { x: "epoch", xs: [5, "NaN", 1, null] });
  expect([...data.firstX]).toEqual([1, 5]);
  expect([...data.firstStep]).toEqual([2, 0]);
  expect(data.withoutX).toBe(2);
});

test("a curve cut anywhere and appended again is the curve", () => {
  fc.assert(
    fc.property(ascending, fc.nat(), (rows, cut) => {
      const at = rows.length === 0 ? 0 : cut % (rows.length + 1);
      const joined = appendPoints(ofPoints(rows.slice(0, at)), ofPoints(rows.slice(at)));
      expect(joined).toEqual(ofPoints(rows));
    }),
  );
});

test("points that are not behind all that is known are refused", () => {
  const known = ofPoints([
    [0, 0, 1],
    [5, 0, 1],
  ]);
  expect(appendPoints(known, ofPoints([[5, 0, 2]]))).toBeNull();
  expect(appendPoints(known, ofPoints([[3, 0, 2]]))).toBeNull();
  expect(appendPoints(ofPoints([]), ofPoints([[3, 0, 2]]))?.length).toBe(1);
});

test("the entries of a stretch are those that touch it", () => {
  fc.assert(
    fc.property(ascending, fc.nat(1_000), fc.nat(1_000), (rows, a, b) => {
      const data = ofPoints(rows);
      const [from, to] = [Math.min(a, b), Math.max(a, b)];
      const [start, stop] = entriesIn(data, from, to);
      const inside = rows.filter(([step]) => step >= from && step <= to).map(([step]) => step);
      expect([...data.firstStep.subarray(start, stop)]).toEqual(inside);
      const steps = stepsIn(data, from, to);
      expect(steps).toEqual(inside.length === 0 ? null : [inside[0], inside.at(-1)]);
    }),
  );
});

test("the nearest entry is the nearest", () => {
  fc.assert(
    fc.property(ascending, fc.integer({ min: -50, max: 1_050 }), (rows, x) => {
      const data = ofPoints(rows);
      const found = nearestEntry(data, x);
      if (rows.length === 0) {
        expect(found).toBe(-1);
        return;
      }
      const least = Math.min(...rows.map(([step]) => Math.abs(step - x)));
      expect(Math.abs((data.firstX[found] ?? NaN) - x)).toBe(least);
    }),
  );
  expect(lastStepOf(ofPoints([]))).toBe(-1);
});
