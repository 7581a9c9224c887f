import fc from "fast-check";
import { expect, test } from "vitest";
import { accepted, cut, pointsBefore } from "@/pages/runs/points";

const text = fc.string({ unit: "binary" });

test("a place in a field is counted in code points", () => {
  expect(pointsBefore("a😀b", 3)).toBe(2);
  fc.assert(
    fc.property(text, fc.nat(40), (given, at) => {
      const before = Array.from(given).slice(0, at);
      expect(pointsBefore(given, before.join("").length)).toBe(before.length);
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
