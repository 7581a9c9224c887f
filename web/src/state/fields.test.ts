import { expect, test } from "vitest";
import { fieldText, quoted } from "@/state/fields";

test("keys stand in quotes where they have to", () => {
  expect(fieldText("params", "fit.draws")).toBe("params.fit.draws");
  expect(fieldText("params", "a\\.b")).toBe('params."a\\\\.b"');
  expect(fieldText("tags", "owner team")).toBe('tags."owner team"');
});

test("quotes, backslashes and signs without a shape are escaped", () => {
  expect(quoted('say "\\"\n')).toBe('"say \\"\\\\\\"\\u000a"');
});
