import { expect, test } from "vitest";
import { looksOf } from "@/pages/runs/columns";
import { conditionOf, narrowed, summable } from "@/pages/runs/groups";

test.each([
  ["params.lr", "1e-3", 'params.lr = "1e-3"'],
  ["params.lr", null, "params.lr IS MISSING"],
  ["params.lr", "", 'params.lr = ""'],
  ["status", "failed", "status = failed"],
  ["attempts", 2, "attempts = 2"],
  ['tags."owner team"', 'a "b"', 'tags."owner team" = "a \\"b\\""'],
])("the runs of the group %s %s meet %s", (by, value, condition) => {
  expect(conditionOf(by, value)).toBe(condition);
});

test("a condition more holds beside the whole filter", () => {
  expect(narrowed(" ", "kind = fit")).toBe("kind = fit");
  expect(narrowed("name = a OR name = b", "kind = fit")).toBe(
    "(name = a OR name = b) AND kind = fit",
  );
});

test("only series are summed up, at no other series' extreme", () => {
  const looks = looksOf(["name", "metrics.loss.min", "metrics.acc AT MIN metrics.loss"]);
  expect(summable(looks).map(({ text }) => text)).toEqual(["metrics.loss.min"]);
});
