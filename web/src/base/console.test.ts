import fc from "fast-check";
import { expect, test } from "vitest";
import { lastState, withoutCut } from "@/base/console";

test.each([
  ["plain", "plain"],
  ["  0%\r 50%\r100%", "100%"],
  ["abcdef\rXY", "XYcdef"],
  ["done\r", "done"],
  ["long line\r\u001b[Kend", "end"],
  ["a\r\nb", "a\nb"],
  ["\u001b[31mred\u001b[0m", "red"],
  ["bar 🚂🚂\rbar ok", "bar ok"],
  ["\u001b]0;title\u0007x", "x"],
])("%j is seen as %j", (text, seen) => {
  expect(lastState(text)).toBe(seen);
});

test("what has no control characters is seen as it is, and what is seen has no carriage return", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", "é", "\r", "\n", " ", "1") }), (text) => {
      expect(lastState(text)).not.toContain("\r");
      if (!text.includes("\r")) expect(lastState(text)).toBe(text);
    }),
  );
});

test("a cut line says how much is missing", () => {
  expect(withoutCut("x [cut: 120 more characters]")).toEqual({ text: "x", missing: 120 });
  expect(withoutCut("x [cut: no]")).toEqual({ text: "x [cut: no]", missing: 0 });
});
