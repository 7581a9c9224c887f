import fc from "fast-check";
import { expect, test } from "vitest";
import { lettersOf, pathOf, shortened } from "@/pages/compare/plots/paths";

test("a missing point is a gap in the line", () => {
  expect(pathOf([[0, 1], [2.04, 3], null, [4, 5]])).toBe("M0,1L2,3M4,5");
  expect(pathOf([null])).toBe("");
});

test("a text is cut in its middle, with both ends kept", () => {
  expect(shortened("metrics.loss", 20)).toBe("metrics.loss");
  expect(shortened("validation/loss", 7)).toBe("val…oss");
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 3, max: 40 }), (text, most) => {
      expect(lettersOf(shortened(text, most)).length).toBeLessThanOrEqual(most);
    }),
  );
});
