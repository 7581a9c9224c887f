import { expect, test } from "vitest";
import { mediaAt, mediaKeys, mediaSteps, type MediaItem } from "@/pages/compare/media_choice";

const item = (key: string, step: number | null): MediaItem => ({ key, step }) as MediaItem;
const media = [
  [item("b", 10), item("a", null), item("b", 2)],
  [item("b", 2), item("c", 3)],
];

test("keys and steps are those that any run has", () => {
  expect(mediaKeys(media)).toEqual(["a", "b", "c"]);
  expect(mediaSteps(media, "b")).toEqual([2, 10]);
  expect(mediaSteps(media, "a")).toEqual([]);
});

test("what stands side by side is of the same step exactly", () => {
  expect(media.map((items) => mediaAt(items, "b", 10).length)).toEqual([1, 0]);
  expect(mediaAt(media[0] ?? [], "a", null)).toHaveLength(1);
});
