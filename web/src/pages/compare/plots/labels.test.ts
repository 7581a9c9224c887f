import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LABEL_HEIGHT, labelPlaces, type Label } from "@/pages/compare/plots/labels";

const BOX = { left: 0, right: 400, top: 0, bottom: 300 };

function overlaps(labels: readonly Label[]): boolean {
  const places = labelPlaces(labels, BOX);
  return places.some((one, at) =>
    places.some(
      (other, to) =>
        to > at &&
        Math.abs(one.y - other.y) < LABEL_HEIGHT &&
        one.x < other.x + (labels[to]?.width ?? 0) &&
        other.x < one.x + (labels[at]?.width ?? 0),
    ),
  );
}

describe("labelPlaces", () => {
  it("puts a name to the right of its point, and to the left at the edge", () => {
    expect(labelPlaces([{ x: 100, y: 100, width: 60 }], BOX)).toEqual([{ x: 110, y: 100 }]);
    expect(labelPlaces([{ x: 390, y: 100, width: 60 }], BOX)).toEqual([{ x: 320, y: 100 }]);
  });

  it("leaves a name beside its point where another is near to it in height alone", () => {
    const places = labelPlaces(
      [
        { x: 20, y: 100, width: 60 },
        { x: 300, y: 102, width: 60 },
      ],
      BOX,
    );
    expect(places.map(({ y }) => y)).toEqual([100, 102]);
  });

  it("puts no name on another where ten points are one", () => {
    const one = { x: 200, y: 150, width: 80 };
    expect(overlaps(Array.from({ length: 10 }, () => one))).toBe(false);
  });

  it("puts no name on the axis below two near points", () => {
    const labels = [
      { x: 200, y: 294, width: 80 },
      { x: 204, y: 297, width: 80 },
    ];
    expect(overlaps(labels)).toBe(false);
    for (const { y } of labelPlaces(labels, BOX)) {
      expect(y).toBeLessThanOrEqual(BOX.bottom - LABEL_HEIGHT / 2);
    }
  });

  it("keeps every name within the plot", () => {
    const label = fc.record({
      x: fc.integer({ min: 0, max: 400 }),
      y: fc.integer({ min: 0, max: 300 }),
      width: fc.integer({ min: 1, max: 400 }),
    });
    fc.assert(
      fc.property(fc.array(label, { maxLength: 10 }), (labels) => {
        labelPlaces(labels, BOX).forEach(({ x, y }, at) => {
          expect(x).toBeGreaterThanOrEqual(0);
          expect(x + (labels[at]?.width ?? 0)).toBeLessThanOrEqual(400);
          expect(y).toBeGreaterThanOrEqual(LABEL_HEIGHT / 2);
          expect(y).toBeLessThanOrEqual(300 - LABEL_HEIGHT / 2);
        });
      }),
    );
  });
});
