import { expect, test } from "vitest";
import { ChartGroup } from "@/charts/group";

test("all charts share the place that is pointed at, and one of them tells it", () => {
  const group = new ChartGroup();
  group.pointAt(3, "a");
  group.pointAt(5, "b");
  expect(group.hover).toBe(5);
  expect([group.told("a"), group.told("b")]).toEqual([null, 5]);
});

test("a chart that is left late takes nothing from the next one", () => {
  const group = new ChartGroup();
  group.pointAt(3, "a");
  group.pointAt(5, "b");
  group.pointAt(null, "a");
  expect(group.told("b")).toBe(5);
  group.pointAt(null, "b");
  expect(group.hover).toBeNull();
});

test("the same place in another chart is heard of", () => {
  const group = new ChartGroup();
  let count = 0;
  group.onHover(() => {
    count += 1;
  });
  group.pointAt(3, "a");
  group.pointAt(3, "b");
  group.pointAt(3, "b");
  expect(count).toBe(2);
});
