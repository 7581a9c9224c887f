import { expect, test } from "vitest";
import { ago, duration, utcTime } from "@/base/times";

test.each([
  [null, "–"],
  [0.0123, "12 ms"],
  [59.94, "59.9 s"],
  [60, "1 min"],
  [61.9, "1 min 1 s"],
  [3_600, "1 h"],
  [5_400, "1 h 30 min"],
  [200_000, "2 d 7 h"],
])("%s seconds are %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

test("a moment has one spelling in UTC", () => {
  expect(utcTime("2026-11-30T12:34:56.789Z")).toBe("2026-11-30 12:34:56 UTC");
});

test("the past has one unit", () => {
  const now = Date.parse("2026-11-30T12:00:00Z");
  expect(ago("2026-11-30T11:59:58Z", now)).toBe("now");
  expect(ago("2026-11-30T10:28:00Z", now)).toBe("1 h ago");
});
