import fc from "fast-check";
import { expect, test } from "vitest";
import { accepted, cut, pointsBefore, unitsBefore } from "@/pages/runs/points";

const text = fc.string({ unit: "binary" });

test("places in code points and in a field are the same places", () => {
  fc.assert(
    fc.property(text, fc.nat(40), (given, at) => {
      const points = Math.min(at, Array.from(given).length);
      expect(pointsBefore(given, unitsBefore(given, points))).toBe(points);
    }),
  );
});

test("what is cut is the text, and what is marked is never nothing", () => {
  expect(cut("😀 = 1", 0, 1)).toEqual(["😀", " ", "= 1"].map((_, at) => ["", "😀", " = 1"][at]));
  expect(cut("name =", 6, 0)).toEqual(["name =", " ", ""]);
  fc.assert(
    fc.property(text, fc.nat(40), fc.nat(5), (given, offset, length) => {
      const parts = cut(given, offset, length);
      expect(parts[1]).not.toBe("");
      expect(parts.join("").startsWith(given)).toBe(true);
    }),
  );
});

test.each([
  ["na = 1", { start: 0, end: 2 }, { text: "name", kind: "field" }, "name = 1", 5],
  ["na", { start: 0, end: 2 }, { text: "name", kind: "field" }, "name ", 5],
  ["😀 na", { start: 2, end: 4 }, { text: "name", kind: "field" }, "😀 name ", 8],
  ["lo", { start: 0, end: 2 }, { text: "metrics.loss", kind: "metric" }, "metrics.loss", 12],
])("%s is completed", (given, place, candidate, expected, caret) => {
  expect(accepted(given, place, candidate)).toEqual({ text: expected, caret });
});
