import { expect, test } from "vitest";
import { unseenOf } from "@/pages/runs/choosing";

test("chosen runs that another filter leaves out are known, in the order of the choice", () => {
  const rows = [{ id: "a" }, { id: "c" }];
  expect(unseenOf(new Set(["d", "a", "b"]), rows)).toEqual(["d", "b"]);
  expect(unseenOf(new Set(["c", "a"]), rows)).toEqual([]);
  expect(unseenOf(new Set(), [])).toEqual([]);
});
