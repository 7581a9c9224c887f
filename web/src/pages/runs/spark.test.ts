import fc from "fast-check";
import { expect, test } from "vitest";
import { type Curve, sparkOf } from "@/pages/runs/spark";

function curve(values: (number | string)[]): Curve {
  return { points: values.map((value, step) => [step, 0, value]) };
}

test("a curve goes from left to right and from its lowest to its highest value", () => {
  expect(sparkOf(curve([0, 1, 0.5]), 60, 20)).toEqual({
    line: "M0,20L30,0L60,10",
    band: "M0,20L30,0L60,10L60,10L30,0L0,20Z",
    marks: [],
  });
});

test("what is not finite is a mark, and no place of the line", () => {
  const spark = sparkOf(curve([1, "NaN", 1]), 60, 20);
  expect(spark).toMatchObject({ line: "M0,10L60,10", marks: [30] });
  expect(sparkOf(curve(["NaN", "Infinity"]), 60, 20)).toEqual({
    line: "",
    band: "",
    marks: [0, 60],
  });
});

test("a scalar and a single point are no curves", () => {
  expect(sparkOf(curve([1]), 60, 20)).toBeNull();
  expect(sparkOf({ points: [[null, 0, 1]] }, 60, 20)).toBeNull();
});

test("any finite values are drawn inside the box", () => {
  const value = fc.double({ noNaN: true, noDefaultInfinity: true });
  fc.assert(
    fc.property(fc.array(value, { minLength: 2, maxLength: 40 }), (values) => {
      const { line } = sparkOf(curve(values), 60, 20) ?? { line: "" };
      const numbers = line.slice(1).split(/[L,]/).map(Number);
      expect(numbers).toHaveLength(2 * values.length);
      numbers.forEach((number, at) => {
        expect(number >= 0 && number <= (at % 2 === 0 ? 60 : 20)).toBe(true);
      });
    }),
  );
});
