import fc from "fast-check";
import { expect, test } from "vitest";
import { isNumeral, shortNumber, wholeNumber } from "@/base/numbers";

test.each([
  [0, "0"],
  [-0.25, "−0.25"],
  [0.123456, "0.1235"],
  [12345, "12345"],
  [123456.7, "123.5k"],
  [999_999, "1M"],
  [1_234_567, "1.235M"],
  [0.00001234, "1.234e-5"],
  [1e21, "1.000e21"],
  [NaN, "NaN"],
  [Infinity, "∞"],
  [-Infinity, "−∞"],
  [null, "–"],
])("%s is written %s", (value, text) => {
  expect(shortNumber(value)).toBe(text);
});

test("what is written is within half a unit of the fourth digit", () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-12, max: 1e17, noNaN: true }), (value) => {
      const scales = { k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 } as const;
      const text = shortNumber(value);
      const suffix = text.at(-1) as keyof typeof scales;
      const back = suffix in scales ? Number(text.slice(0, -1)) * scales[suffix] : Number(text);
      expect(Math.abs(back - value)).toBeLessThanOrEqual(value * 5.1e-4);
    }),
  );
});

test("counts keep every digit", () => {
  expect(wholeNumber(1234567)).toBe("1 234 567");
});

test("what programs write as numbers are numbers, and nothing beside them is", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(isNumeral(String(value))).toBe(true);
    }),
  );
  const others = ["", ".", "1,5", "0x10", "1_000", "NaN", "Infinity", "1e", " 1", "1 "];
  expect(others.filter(isNumeral)).toEqual([]);
});
