import fc from "fast-check";
import { expect, test } from "vitest";
import {
  clockTicks,
  durationTicks,
  formatTicks,
  linearTicks,
  logTicks,
  roundStep,
  unitOf,
} from "@/charts/ticks";

test.each([
  [0.0012, 0.002],
  [1, 1],
  [1.1, 2],
  [4.9, 5],
  [5.1, 10],
  [3e17, 5e17],
])("the round step from %s on is %s", (least, step) => {
  expect(roundStep(least)).toBeCloseTo(step, 12);
});

const range = fc
  .tuple(
    fc.double({ min: -1e15, max: 1e15, noNaN: true }),
    fc.double({ min: 1e-9, max: 1e15, noNaN: true }),
  )
  .filter(([low, width]) => width > Math.abs(low) * 1e-9)
  .map(([low, width]): [number, number] => [low, low + width]);

test("marks lie inside, rise, are not too many, and no two have one text", () => {
  fc.assert(
    fc.property(range, fc.integer({ min: 2, max: 12 }), ([low, high], countMax) => {
      const ticks = linearTicks([low, high], countMax);
      const room = (high - low) * 1e-6;
      expect(ticks.length).toBeLessThanOrEqual(countMax + 1);
      expect(new Set(ticks.map(({ text }) => text)).size).toBe(ticks.length);
      ticks.forEach(({ at }, index) => {
        expect(at).toBeGreaterThanOrEqual(low - room);
        expect(at).toBeLessThanOrEqual(high + room);
        if (index > 0) expect(at).toBeGreaterThan(ticks[index - 1]?.at ?? NaN);
      });
    }),
  );
});

test("steps are marked at whole numbers", () => {
  expect(linearTicks([0, 2], 8, true).map(({ text }) => text)).toEqual(["0", "1", "2"]);
});

test.each([
  [[0, 0.5, 1], 0.5, ["0", "0.5", "1.0"]],
  [[-2, 0, 2], 2, ["−2", "0", "2"]],
  [[1000, 2000], 1000, ["1000", "2000"]],
  [[0, 20_000, 40_000], 20_000, ["0", "20k", "40k"]],
  [[1e6, 1.5e6], 5e5, ["1.0M", "1.5M"]],
  [[1e-9, 2e-9], 1e-9, ["1e-9", "2e-9"]],
] as const)("%s apart by %s are written %s", (values, step, texts) => {
  expect(formatTicks(values, step)).toEqual(texts);
});

test("a logarithmic axis is marked at powers of ten, or between where it has few", () => {
  expect(logTicks([-3, 2], 6).map(({ text }) => text)).toEqual([
    "0.001",
    "0.01",
    "0.1",
    "1",
    "10",
    "100",
  ]);
  expect(logTicks([0, 1], 8).map(({ text }) => text)).toEqual(["1", "2", "5", "10"]);
  expect(logTicks([-12, 12], 5).length).toBeLessThanOrEqual(6);
  const near = logTicks([Math.log10(1.01), Math.log10(1.04)], 4);
  expect(near.length).toBeGreaterThanOrEqual(2);
});

test("durations and clocks are marked where people look", () => {
  expect(durationTicks([0, 3600], 4).map(({ text }) => text)).toEqual([
    "0",
    "15 min",
    "30 min",
    "45 min",
    "1 h",
  ]);
  const noon = Date.parse("2026-11-30T23:00:00Z") / 1000;
  expect(clockTicks([noon, noon + 7200], 4, 0).map(({ text }) => text)).toEqual([
    "11-30 23:00",
    "23:30",
    "12-01 00:00",
    "00:30",
    "01:00",
  ]);
});

test("a key tells its unit by its end", () => {
  expect([unitOf("time_ms"), unitOf("gpu_percent"), unitOf("loss"), unitOf("s")]).toEqual([
    "ms",
    "%",
    "",
    "",
  ]);
});
