import fc from "fast-check";
import { expect, test } from "vitest";
import { stepOf } from "@/pages/runs/keys";

test("the first key down leads to the first row", () => {
  expect(stepOf("ArrowDown", { at: -1, count: 3, page: 10 })).toBe(0);
  expect(stepOf("ArrowUp", { at: -1, count: 3, page: 10 })).toBe(0);
});

test("no key leads out of the list, and others lead nowhere", () => {
  const keys = ["ArrowDown", "ArrowUp", "j", "k", "PageDown", "PageUp", "Home", "End", "a", "x"];
  fc.assert(
    fc.property(
      fc.constantFrom(...keys),
      fc.integer({ min: 0, max: 50 }),
      fc.integer({ min: -1, max: 49 }),
      fc.integer({ min: -20, max: 20 }),
      (key, count, at, page) => {
        const to = stepOf(key, { at: Math.min(at, count - 1), count, page });
        if (count === 0 || key === "a" || key === "x") expect(to).toBeNull();
        else expect(to !== null && to >= 0 && to < count).toBe(true);
      },
    ),
  );
});
