import fc from "fast-check";
import { expect, test } from "vitest";
import { limitFromText, limitText } from "@/pages/settings/limit_values";

test("limits are shown in what they count", () => {
  expect(limitText("media_bytes", 1_073_741_824)).toBe("1 GiB");
  expect(limitText("points", 10_000_000)).toBe("10 000 000");
  expect(limitText("points", "unlimited")).toBe("unlimited");
});

test("what is shown can be typed", () => {
  fc.assert(
    fc.property(fc.nat(), (count) => {
      expect(limitFromText(limitText("points", count))).toBe(count);
    }),
  );
  expect(limitFromText(" Unlimited ")).toBe("unlimited");
});

test("what is no limit is none", () => {
  expect(["", "-1", "1.5", "1e3", "many", "99999999999999999999"].map(limitFromText)).toEqual(
    Array.from({ length: 6 }, () => null),
  );
});
