import fc from "fast-check";
import { expect, test } from "vitest";
import { escapedPart, keyParts, leavesOf, rowsOf, treeOf } from "@/base/nested";

test("a dot nests and an escaped one does not", () => {
  expect(keyParts("a.b")).toEqual(["a", "b"]);
  expect(keyParts("a\\.b")).toEqual(["a.b"]);
  expect(keyParts("C:\\temp")).toEqual(["C:\\temp"]);
  expect(keyParts("")).toEqual([""]);
});

test("parts are read as they were written", () => {
  const part = fc.string({ unit: fc.constantFrom("a", ".", "\\", "é", "0") });
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), (parts) => {
      expect(keyParts(parts.map(escapedPart).join("."))).toEqual(parts);
    }),
  );
});

test("every key is in the tree once, with its value", () => {
  const key = fc.string({ unit: fc.constantFrom("a", "b", ".", "1"), minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(fc.dictionary(key, fc.integer()), (flat) => {
      const rows = rowsOf(treeOf(Object.entries(flat)), new Set());
      const found = rows.filter(({ node }) => node.value !== undefined);
      expect(Object.fromEntries(found.map(({ node }) => [node.key, node.value]))).toEqual(flat);
      expect(found).toHaveLength(Object.keys(flat).length);
    }),
  );
});

test("layers sort by number, a closed key hides what is below it", () => {
  const tree = treeOf([
    ["layer.10", "b"],
    ["layer.2", "a"],
    ["lr", "c"],
  ]);
  expect(rowsOf(tree, new Set()).map(({ node }) => node.key)).toEqual([
    "layer",
    "layer.2",
    "layer.10",
    "lr",
  ]);
  expect(rowsOf(tree, new Set(["layer"])).map(({ node }) => node.key)).toEqual(["layer", "lr"]);
});

test("a document has its leaves, and what is empty is one", () => {
  expect(leavesOf({ a: { b: [1, null] }, "c.d": {}, e: "x" })).toEqual([
    ["a.b.0", 1],
    ["a.b.1", null],
    ["c\\.d", {}],
    ["e", "x"],
  ]);
});

test("names that objects have by themselves are keys like others", () => {
  const rows = rowsOf(treeOf([["__proto__.constructor", 1]]), new Set());
  expect(rows.map(({ node }) => node.name)).toEqual(["__proto__", "constructor"]);
});
