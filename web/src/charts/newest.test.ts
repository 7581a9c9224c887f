import fc from "fast-check";
import { expect, test } from "vitest";
import { newestOf } from "@/charts/newest";

test("a curve that is short enough is drawn whole", () => {
  expect(newestOf([{ first_step: 0, count: 5 }], 5)).toBeNull();
});

test("of a longer one the newest buckets are drawn, and the rest is counted", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 2, maxLength: 40 }),
      fc.integer({ min: 50, max: 200 }),
      (counts, countMax) => {
        const buckets = counts.map((count, at) => ({ first_step: at * 100, count }));
        const total = counts.reduce((sum, count) => sum + count, 0);
        const found = newestOf(buckets, countMax);
        if (total <= countMax) {
          expect(found).toBeNull();
          return;
        }
        const drawn = buckets.filter(({ first_step: first }) => first >= (found?.from ?? 0));
        const points = drawn.reduce((sum, { count }) => sum + count, 0);
        expect(points).toBeLessThanOrEqual(countMax);
        expect(points + (found?.leftOut ?? 0)).toBe(total);
        // One bucket more would be too many.
        const before = buckets[buckets.length - drawn.length - 1];
        expect(points + (before?.count ?? 0)).toBeGreaterThan(countMax);
      },
    ),
  );
});

test("a single bucket that is too large cannot be cut", () => {
  expect(newestOf([{ first_step: 0, count: 500 }], 100)).toBeNull();
});
