import fc from "fast-check";
import { expect, test } from "vitest";
import { dataFromCurve } from "@/charts/columns";
import { spliced, stepsToAsk } from "@/charts/stretches";

const CURVE = { key: "loss", labels: {}, attempt: null };

function ofBuckets(count: number, width: number) {
  return dataFromCurve({
    ...CURVE,
    points_total: count * width,
    buckets: Array.from({ length: count }, (_, at) => ({
      ...{ first_step: at * width, last_step: (at + 1) * width - 1, first: 0, last: 0 },
      ...{ min: 0, max: 1, mean: 0.5, count: width },
      ...{ nonfinite_count: 0, nan_count: 0, infinity_count: 0 },
    })),
  });
}

function ofSteps(from: number, to: number) {
  const steps = Array.from({ length: to - from + 1 }, (_, at) => from + at);
  return dataFromCurve({
    ...CURVE,
    points_total: steps.length,
    points: steps.map((step) => [step, 0, 0.5]),
  });
}

test("what is asked for covers what is seen, and little more", () => {
  const overview = ofBuckets(1_000, 1_000);
  fc.assert(
    fc.property(fc.nat(999_990), fc.integer({ min: 1, max: 500_000 }), (from, width) => {
      const to = Math.min(from + width, 999_999);
      const asked = stepsToAsk(overview, [from, to]);
      expect(asked).not.toBeNull();
      const [first, last] = asked ?? [NaN, NaN];
      expect(first).toBeLessThanOrEqual(from);
      expect(last).toBeGreaterThanOrEqual(to);
      expect(last - first).toBeLessThanOrEqual((to - from + 1) * 1.6 + 4);
    }),
  );
});

test("a small move asks for the same", () => {
  const overview = ofBuckets(1_000, 1_000);
  expect(stepsToAsk(overview, [300_000, 400_000])).toEqual(
    stepsToAsk(overview, [300_500, 400_500]),
  );
});

test("where the curve has nothing, nothing is asked for", () => {
  expect(stepsToAsk(ofBuckets(10, 10), [1_000, 2_000])).toBeNull();
});

test("a part stands between what is known around it, in order and each point once", () => {
  const overview = ofBuckets(100, 100);
  fc.assert(
    fc.property(fc.nat(9_000), fc.integer({ min: 0, max: 999 }), (from, width) => {
      const part = ofSteps(from, from + width);
      const found = spliced(overview, part, [from, from + width]);
      expect([...found.firstX]).toEqual([...found.firstX].sort((a, b) => a - b));
      const ends = [...found.lastStep];
      ends.forEach((_, at) => {
        if (at > 0) expect(found.firstStep[at]).toBeGreaterThan(ends[at - 1] ?? NaN);
      });
      const inside = [...found.count].filter((count) => count === 1).length;
      expect(inside).toBe(width + 1);
      expect(found.total).toBe(10_000);
    }),
  );
});
