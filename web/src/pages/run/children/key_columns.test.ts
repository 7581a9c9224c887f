import { expect, test } from "vitest";
import { type Child, keyColumns } from "@/pages/run/children/key_columns";

function child(params: Record<string, number>, ...keys: string[]): Child {
  return {
    params: Object.fromEntries(
      Object.entries(params).map(([key, value]) => [key, { text: String(value) }]),
    ),
    series: keys.map((key) => ({ key, labels: {} })),
  } as unknown as Child;
}

test("children are told apart by the params in which they differ, and by what they are judged by", () => {
  expect(
    keyColumns([
      child({ lr: 0.1, depth: 2 }, "epoch", "val_loss"),
      child({ lr: 0.2, depth: 2 }, "acc"),
    ]),
  ).toEqual([
    "status",
    "name",
    "params.lr",
    "metrics.acc",
    "metrics.val_loss",
    "metrics.epoch",
    "duration",
    "created",
  ]);
});

test("a param that one child lacks tells it apart", () => {
  expect(keyColumns([child({ lr: 0.1 }), child({})])).toContain("params.lr");
});

test("of a single child the first params stand", () => {
  const columns = keyColumns([child({ a: 1, b: 2, c: 3, d: 4, e: 5 })]);
  expect(columns.filter((column) => column.startsWith("params."))).toHaveLength(4);
});

test("without children there are columns all the same", () => {
  expect(keyColumns([])).toEqual(["status", "name", "duration", "created"]);
});
