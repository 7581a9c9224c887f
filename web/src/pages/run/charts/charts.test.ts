import fc from "fast-check";
import { expect, test } from "vitest";
import { chartsAddress } from "@/pages/run/charts/address";
import {
  chartsOf,
  matching,
  movedPin,
  tellingLabels,
  withPinsFirst,
} from "@/pages/run/charts/charts";
import type { Series } from "@/state/series";

function series(
  key: string,
  labels: Record<string, string> = {},
  more: Partial<Series> = {},
): Series {
  return {
    ...{ key, labels, name: key, attempt: 1, is_scalar: false, count: 2, nonfinite_count: 0 },
    ...{ first_time: "2026-01-01T00:00:00Z", last_time: "2026-01-01T00:00:01Z" },
    ...{ last_step: 1, last_value: 0.5, min_value: 0.5, min_step: 1, max_value: 1, max_step: 0 },
    ...{ mean: 0.75, source: "api" },
    ...more,
  };
}

const ABOUT = { run: "run_1", attempt: null, by: null };
const ALL = [
  series("loss", { split: "val" }),
  series("acc"),
  series("loss", { split: "train" }),
  series("best", {}, { is_scalar: true }),
  series("n", { raw: "%C3%A4" }, { name: "ä" }),
];

test("each key with steps is a chart, with a line for each series", () => {
  const charts = chartsOf(ALL, ABOUT);
  expect(charts.map(({ key, lines }) => [key, lines.map(({ name }) => name)])).toEqual([
    ["acc", ["acc"]],
    ["loss", ["split=train", "split=val"]],
    ["n", ["ä"]],
  ]);
});

test("lines of one value of the chosen label have one colour, in all charts", () => {
  const many = ["loss", "acc"].flatMap((key) =>
    ["train", "val"].flatMap((split) => ["0", "1"].map((fold) => series(key, { split, fold }))),
  );
  const lines = chartsOf(many, { ...ABOUT, by: "split" }).flatMap((chart) => chart.lines);
  const colours = new Map<string, Set<number>>();
  for (const { labels, colour } of lines) {
    const split = labels.split ?? "";
    colours.set(split, (colours.get(split) ?? new Set()).add(colour));
  }
  expect([...colours.values()].map((found) => found.size)).toEqual([1, 1]);
  expect(tellingLabels(many)).toEqual(["fold", "split"]);
});

test("a search finds keys, labels and original names; all words have to be there", () => {
  const charts = chartsOf(ALL, ABOUT);
  const keys = (looked: string): string[] => matching(charts, looked).map(({ key }) => key);
  expect(keys("")).toEqual(["acc", "loss", "n"]);
  expect(keys("LOSS val")).toEqual(["loss"]);
  expect(keys("ä")).toEqual(["n"]);
  expect(keys("loss nothing")).toEqual([]);
});

test("pins stand first in their order, and a moved pin stays one of them", () => {
  const charts = chartsOf(ALL, ABOUT);
  expect(withPinsFirst(charts, ["n", "gone", "loss"]).map(({ key }) => key)).toEqual([
    "n",
    "loss",
    "acc",
  ]);
  expect(movedPin(["a", "b", "c"], "b", -1)).toEqual(["b", "a", "c"]);
  expect(movedPin(["a", "b", "c"], "c", 1)).toEqual(["a", "b", "c"]);
  expect(movedPin(["a"], "z", 1)).toEqual(["a"]);
});

test("an address holds what it was given, and drops what it does not understand", () => {
  const given = {
    ...{ charts: "loss", x: "run_time", logy: true, smooth: 0.9, clip: true, by: "split" },
    ...{ pins: ["b", "a"], zoom: [1, 2.5], full: "loss" },
  };
  expect(chartsAddress(given)).toEqual(given);
  expect(chartsAddress({ zoom: [2, 1], smooth: 0.123, logx: "yes", pins: "a", x: "step" })).toEqual(
    {},
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.anything()), (search) => {
      const found = chartsAddress(search);
      expect(chartsAddress({ ...found })).toEqual(found);
    }),
  );
});
