import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  columnsChange,
  isGroupable,
  withMoved,
  withoutColumn,
  withStatistic,
} from "@/pages/runs/changing";
import { DEFAULT_COLUMNS, lookOf } from "@/pages/runs/columns";

const COLUMNS = ["name", "metrics.loss", "params.lr"];

describe("a statistic", () => {
  test("stands in the place of the one before, and orders as that did", () => {
    expect(
      withStatistic(COLUMNS, lookOf("metrics.loss"), { statistic: "min", sort: "-metrics.loss" }),
    ).toEqual({ columns: ["name", "metrics.loss.min", "params.lr"], sort: "-metrics.loss.min" });
    expect(
      withStatistic(
        ["name", "metrics.loss{split=val}.max"],
        lookOf("metrics.loss{split=val}.max"),
        {
          statistic: "last",
          sort: "name",
        },
      ),
    ).toEqual({ columns: ["name", "metrics.loss{split=val}"] });
  });

  test("that is shown already is shown once", () => {
    const columns = ["name", "metrics.loss", "metrics.loss.min"];
    expect(
      withStatistic(columns, lookOf("metrics.loss"), { statistic: "min", sort: undefined }),
    ).toEqual({ columns: ["name", "metrics.loss.min"] });
  });
});

test("an order by a column that is hidden goes with it", () => {
  expect(withoutColumn(COLUMNS, "params.lr", "-params.lr")).toEqual({
    columns: ["name", "metrics.loss"],
    sort: undefined,
  });
  expect(withoutColumn(COLUMNS, "params.lr", "name")).toEqual({
    columns: ["name", "metrics.loss"],
  });
});

test("a column moved there and back stands where it was, and the usual ones in no address", () => {
  expect(columnsChange([...DEFAULT_COLUMNS])).toEqual({ columns: undefined });
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { minLength: 2 }), (columns) => {
      const { columns: there } = withMoved(columns, columns[0] ?? "", 1);
      expect(withMoved(there ?? [], columns[0] ?? "", -1).columns).toEqual(columns);
    }),
  );
});

test("runs are grouped by params, tags and what few values have", () => {
  expect(["params.lr", "tags.team", "user", "created", "metrics.loss"].filter(isGroupable)).toEqual(
    ["params.lr", "tags.team", "user"],
  );
});
