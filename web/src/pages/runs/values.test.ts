import { expect, test } from "vitest";
import { lookOf } from "@/pages/runs/columns";
import type { RunRow } from "@/pages/runs/merging";
import { isRight, secondsOf, shown, valueOf } from "@/pages/runs/values";

const row: RunRow = {
  id: "run_1",
  name: "<img src=x onerror=alert(1)>",
  kind: "fit",
  status: "running",
  experiment: null,
  user: "ann",
  created: "2026-11-30T12:00:00Z",
  started: "2026-11-30T12:00:00Z",
  finished: null,
  values: [0.25, "NaN"],
};

test.each([
  ["metrics.loss", 0.123456, "0.1235", { isNumber: true }],
  ["metrics.loss", "NaN", "NaN", { isNonfinite: true }],
  ["metrics.loss", "-Infinity", "−∞", { isNonfinite: true }],
  ["metrics.loss", null, "–", { isMissing: true }],
  ["params.lr", "1e-3", "1e-3", { isNumber: true }],
  ["params.lr", "0.30000000000000004", "0.3", { isNumber: true, title: "0.30000000000000004" }],
  ["params.opt", "adam", "adam", { isNumber: false }],
  ["params.opt", "NaN", "NaN", { isNonfinite: false }],
  ["params.text", "", "", { isMissing: true }],
  ["duration", 61.9, "1 min 1 s", { isNumber: true }],
])("%s of %s is shown as %s", (column, value, text, rest) => {
  expect(shown(value, lookOf(column))).toMatchObject({ text, ...rest });
});

test("what every row has is read from the row, all else from its place", () => {
  expect(valueOf(row, lookOf("name"), undefined)).toBe("<img src=x onerror=alert(1)>");
  expect(valueOf(row, lookOf("metrics.loss"), 0)).toBe(0.25);
  expect(valueOf(row, lookOf("metrics.acc"), 2)).toBeNull();
});

test("a run that goes on lasts up to now, another as long as the server says", () => {
  const now = Date.parse("2026-11-30T12:01:00Z");
  expect(secondsOf(row, 3, now)).toBe(60);
  expect(secondsOf({ ...row, status: "lost" }, 3, now)).toBe(3);
  expect(secondsOf({ ...row, status: "queued", started: null }, null, now)).toBeNull();
});

test("a param's values stand at the right where all of them are numbers", () => {
  const look = lookOf("params.lr");
  const rows = [0, 1, 2].map((at) => ({ ...row, values: [`1e-${at}`, at === 1 ? "auto" : "3"] }));
  expect(isRight(look, 0, [...rows, { ...row, values: [] }])).toBe(true);
  expect(isRight(look, 1, rows)).toBe(false);
  expect(isRight(look, 0, [])).toBe(false);
});
