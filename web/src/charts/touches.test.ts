import fc from "fast-check";
import { expect, test } from "vitest";
import { type Pair, pinched } from "@/charts/touches";

const FAR = [-1e9, 1e9] as const;

const pair: fc.Arbitrary<Pair> = fc
  .tuple(
    fc.double({ min: 0, max: 0.8, noNaN: true }),
    fc.double({ min: 0.05, max: 0.2, noNaN: true }),
  )
  .map(([left, apart]) => [left, left + apart] as const);

function placeAt([low, high]: readonly [number, number], share: number): number {
  return low + share * (high - low);
}

test("what lies under two fingers stays under them", () => {
  fc.assert(
    fc.property(pair, pair, (from, to) => {
      const seen = [100, 300] as const;
      const next = pinched(seen, { from, to }, FAR);
      for (const finger of [0, 1] as const) {
        expect(placeAt(next, to[finger])).toBeCloseTo(placeAt(seen, from[finger]), 6);
      }
    }),
  );
});

test("nothing beyond the limits is seen, whatever fingers do", () => {
  fc.assert(
    fc.property(pair, pair, (from, to) => {
      const [low, high] = pinched([0, 10], { from, to }, [0, 10]);
      expect(low).toBeGreaterThanOrEqual(0);
      expect(high).toBeLessThanOrEqual(10 + 1e-9);
      expect(high).toBeGreaterThan(low);
    }),
  );
});

test("fingers that meet zoom to no point", () => {
  const [low, high] = pinched([0, 10], { from: [0.2, 0.8], to: [0.5, 0.5] }, [0, 10]);
  expect([low, high]).toEqual([0, 10]);
  const near = pinched([0, 10], { from: [0.5, 0.5], to: [0, 1] }, [0, 10]);
  expect(near[1] - near[0]).toBeCloseTo(0.2);
});
