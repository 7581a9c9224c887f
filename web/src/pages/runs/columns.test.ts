import fc from "fast-check";
import { expect, test } from "vitest";
import {
  askedColumns,
  DEFAULT_COLUMNS,
  directionOf,
  isSortable,
  lookOf,
  looksOf,
  nextSort,
  shownColumns,
} from "@/pages/runs/columns";

test.each([
  ["metrics.loss", "loss", "", "loss"],
  ["metrics.loss{split=val}.min", "loss{split=val}", "min", "loss{split=val}"],
  ['metrics.f1{fold=".max"}', 'f1{fold=".max"}', "", 'f1{fold=".max"}'],
  ["metrics.acc AT MIN metrics.loss{split=val}", "acc", "at min of loss{split=val}", "acc"],
  ["params.fit.max", "fit.max", "", null],
  ['tags."owner team"', '"owner team"', "", null],
  ["constructor", "constructor", "", null],
])("%s is headed %s %s", (text, label, detail, series) => {
  expect(lookOf(text)).toMatchObject({ text, label, detail, series });
});

test("a value at the extreme of another series orders nothing", () => {
  expect(isSortable(lookOf("metrics.acc AT MAX metrics.f1"))).toBe(false);
  expect(isSortable(lookOf("metrics.acc.max"))).toBe(true);
});

test("the name is shown in any case, and what every row has is not asked for", () => {
  expect(shownColumns(["params.lr", "params.lr"])).toEqual(["name", "params.lr"]);
  expect(askedColumns(shownColumns(undefined))).toEqual(["experiment", "duration"]);
});

test("clicks on a head lead through both directions back to where they began", () => {
  const columns = [...DEFAULT_COLUMNS, "metrics.loss.min", "params.lr"];
  fc.assert(
    fc.property(fc.constantFrom(...columns), (text) => {
      const look = lookOf(text);
      const seen: (string | null)[] = [];
      let sort: string | undefined;
      do {
        seen.push(directionOf(sort, text));
        sort = nextSort(sort, look);
      } while (sort !== undefined && seen.length < 9);
      seen.push(directionOf(sort, text));
      expect(seen).toContain("ascending");
      expect(seen).toContain("descending");
      expect(seen.length).toBeLessThan(9);
    }),
  );
});

test("a series has one curve, beside the first of its values that a curve explains", () => {
  const looks = looksOf(["metrics.loss.count", "metrics.loss", "metrics.loss.min", "params.lr"]);
  expect(looks.map(({ hasSpark }) => hasSpark)).toEqual([false, true, false, false]);
});
