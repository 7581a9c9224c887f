import fc from "fast-check";
import { expect, test } from "vitest";
import { groupsOf, itemAt, type MediaItem, stepsOf, withNewMedia } from "@/state/media";

function item(key: string, step: number | null, id = `${key}${step ?? ""}`): MediaItem {
  return { id, key, labels: {}, step } as MediaItem;
}

test("every item is shown at one of the steps", () => {
  const items = fc.uniqueArray(
    fc.record({
      key: fc.constantFrom("a", "b", "c"),
      step: fc.option(fc.integer({ min: 0, max: 20 })),
    }),
    { selector: ({ key, step }) => `${key} ${step ?? ""}` },
  );
  fc.assert(
    fc.property(items, (drawn) => {
      const all = drawn.map(({ key, step }) => item(key, step));
      const groups = groupsOf(all);
      const steps = stepsOf(groups);
      const shown = new Set(
        groups.flatMap((group) =>
          [-1, ...steps].map((step) => itemAt(group, step)?.id).filter((id) => id !== undefined),
        ),
      );
      expect(shown.size).toBe(all.length);
    }),
  );
});

test("between its steps a group shows the item before, and without a step the last one", () => {
  const [group] = groupsOf([item("a", 10), item("a", 0)]);
  if (group === undefined) throw new Error("no group");
  expect(itemAt(group, 5)?.step).toBe(0);
  expect(itemAt(group, 10)?.step).toBe(10);
  expect(itemAt(group, null)?.step).toBe(10);
});

test("before its first item a group shows none", () => {
  const [group] = groupsOf([item("a", 10)]);
  if (group === undefined) throw new Error("no group");
  expect(itemAt(group, 9)).toBeNull();
});

test("other bytes at a place replace what was there", () => {
  const known = { items: [item("a", 1, "old"), item("b", 1)], prunedCount: 3 };
  const list = withNewMedia(known, [item("a", 1, "new"), item("a", 2)]);
  expect(list.items.map(({ id }) => id)).toEqual(["new", "b1", "a2"]);
  expect(list.prunedCount).toBe(3);
});

test("what has a name that is none of ours is called by it, in full, and by who wrote", () => {
  const raw = `${"x".repeat(120)}~${"0".repeat(64)}`;
  const name = `${"x".repeat(300)} /`;
  const foreign = { ...item("samples", 0), labels: { raw }, name };
  const others: MediaItem[] = [
    foreign,
    { ...foreign, labels: { raw, rank: "2" } },
    { ...item("samples", 0), labels: { split: "val" }, name: "samples{split=val}" },
  ];
  expect(groupsOf(others).map((group) => group.name)).toEqual([
    "samples{split=val}",
    name,
    `${name}, rank=2`,
  ]);
});
