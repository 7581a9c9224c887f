import { expect, test } from "vitest";
import { asNumber, labelsText, type Series, seriesName, withChanged } from "@/state/series";

function series(key: string, labels: Record<string, string>, count = 1): Series {
  return { key, labels, count } as Series;
}

test.each([
  ["loss", {}, "loss"],
  ["loss", { split: "val", fold: "3" }, "loss{fold=3,split=val}"],
  ["loss", { split: 'a"b', rank: "1" }, 'loss{rank=1,split="a\\"b"}'],
  ["loss", { scope: "a b/c" }, 'loss{scope="a b/c"}'],
  ["loss", { split: "in" }, 'loss{split="in"}'],
  ["loss", { split: "" }, 'loss{split=""}'],
])("%s with %o is named %s, as a filter writes it", (key, labels, text) => {
  expect(seriesName({ key, labels })).toBe(text);
});

test("the labels of a series are told for people", () => {
  expect(labelsText({ labels: {}, name: "loss" })).toBe("");
  expect(labelsText({ labels: { rank: "1", split: "a b" }, name: "loss" })).toBe(
    "rank=1, split=a b",
  );
});

test("a name that was none of ours is told in full, with who wrote", () => {
  const name = "Loss of the encoder ".repeat(20);
  const raw = `${name.slice(0, 120)}~${"0".repeat(64)}`;
  expect(labelsText({ labels: { raw }, name })).toBe(name);
  expect(labelsText({ labels: { rank: "2", raw, stream: "data" }, name })).toBe(
    `${name}, rank=2, stream=data`,
  );
});

test("what changed takes the place of what was known, what is new stands behind", () => {
  const known = [series("a", {}), series("a", { rank: "1" })];
  const changed = [series("b", {}), series("a", { rank: "1" }, 7)];
  expect(withChanged(known, changed).map((one) => [seriesName(one), one.count])).toEqual([
    ["a", 1],
    ["a{rank=1}", 7],
    ["b", 1],
  ]);
});

test("values that JSON has no number for are words", () => {
  expect(asNumber("NaN")).toBeNaN();
  expect(asNumber("-Infinity")).toBe(-Infinity);
  expect(asNumber(0)).toBe(0);
  expect(asNumber(null)).toBeNull();
});
