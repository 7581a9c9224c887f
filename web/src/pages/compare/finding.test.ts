import { expect, test } from "vitest";
import { findFilter } from "@/pages/compare/finding";

test("a part of a name is looked for, whatever stands in it", () => {
  expect(findFilter("  ")).toBeNull();
  expect(findFilter("warm")).toBe('name ~ "*warm*"');
  expect(findFilter('a"b\\c\n')).toBe('name ~ "*a\\"b\\\\c*"');
});

test("an id finds its run", () => {
  const id = "run_01a22d2a-0658-7e53-953f-1e24118ff9ec";
  expect(findFilter(` ${id}`)).toBe(`id = "${id}"`);
});
