import fc from "fast-check";
import { expect, test } from "vitest";
import { matching, moved, offered } from "@/pages/runs/offers";
import type { Fields } from "@/state/fields";

const fields: Fields = {
  metrics: [
    { key: "loss", labels: { split: "val" } },
    { key: "closs", labels: {} },
  ],
  label_values: {},
  params: ["lr", "loss.kind"],
  tags: ["owner team"],
  attributes: ["name"],
  is_complete: true,
};

test("what several answers name is offered once, as the language writes it", () => {
  expect(offered(fields, undefined, fields).map(({ text }) => text)).toEqual([
    "metrics.loss{split=val}",
    "metrics.closs",
    "params.lr",
    "params.loss.kind",
    'tags."owner team"',
    "name",
  ]);
});

test("a search finds within names, and first what begins so", () => {
  const found = matching(offered(fields), "Loss");
  expect(found.map(({ label }) => label)).toEqual(["loss{split=val}", "loss.kind", "closs"]);
  expect(matching(offered(fields), "loss val")).toHaveLength(1);
  expect(matching(offered(fields), "  ")).toHaveLength(6);
});

test("a list whose item moves keeps all others in their order", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat()), fc.nat(20), fc.integer(), (items, at, by) => {
      const result = moved(items, at, by);
      const item = items[at];
      expect([...result].sort()).toEqual([...items].sort());
      const others = (list: readonly number[]): number[] => list.filter((one) => one !== item);
      expect(others(result)).toEqual(others(items));
    }),
  );
});
