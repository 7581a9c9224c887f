import { expect, test } from "vitest";
import { fieldText, quoted, seriesText } from "@/state/fields";

test.each([
  ["loss", {}, "loss"],
  ["loss", { split: "val", fold: "3" }, "loss{split=val,fold=3}"],
  ["loss", { scope: "a b/c" }, 'loss{scope="a b/c"}'],
  ["loss", { split: "in" }, 'loss{split="in"}'],
  ["loss", { split: "" }, 'loss{split=""}'],
])("%s with %o is written %s", (key, labels, text) => {
  expect(seriesText(key, labels)).toBe(text);
});

test("keys stand in quotes where they have to", () => {
  expect(fieldText("params", "fit.draws")).toBe("params.fit.draws");
  expect(fieldText("params", "a\\.b")).toBe('params."a\\\\.b"');
  expect(fieldText("tags", "owner team")).toBe('tags."owner team"');
});

test("quotes, backslashes and signs without a shape are escaped", () => {
  expect(quoted('say "\\"\n')).toBe('"say \\"\\\\\\"\\u000a"');
});
