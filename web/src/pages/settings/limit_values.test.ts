import fc from "fast-check";
import { expect, test } from "vitest";
import { limitFromText, limitInput, limitText } from "@/pages/settings/limit_values";

test("limits are shown in what they count", () => {
  expect(limitText("media_bytes", 1_073_741_824)).toBe("1 GiB");
  expect(limitText("points", 10_000_000)).toBe("10 000 000");
  expect(limitText("points", "unlimited")).toBe("unlimited");
});

test("a limit is changed in the unit in which it is shown", () => {
  expect(limitInput("log_bytes", 67_108_864)).toBe("64 MiB");
  expect(limitInput("points", 10_000)).toBe("10000");
  expect(limitFromText("log_bytes", " 1.5 gib ")).toBe(1_610_612_736);
});

test("what stands in the field is the limit, to the last one", () => {
  fc.assert(
    fc.property(fc.constantFrom("points", "media_bytes"), fc.maxSafeNat(), (name, count) => {
      expect(limitFromText(name, limitInput(name, count))).toBe(count);
    }),
  );
});

test("what is shown of a count can be typed", () => {
  fc.assert(
    fc.property(fc.nat(), (count) => {
      expect(limitFromText("points", limitText("points", count))).toBe(count);
    }),
  );
  expect(limitFromText("points", " Unlimited ")).toBe("unlimited");
});

test.each(["points", "media_bytes"])("what is no limit of %s is none", (name) => {
  const wrong = ["", "-1", "1e3", "many", "99999999999999999999", "1.5"];
  expect(wrong.map((text) => limitFromText(name, text))).toEqual(wrong.map(() => null));
});

test("a count has no unit, and a size none but those of 1024", () => {
  expect(limitFromText("points", "64 MiB")).toBeNull();
  expect(limitFromText("media_bytes", "64 MB")).toBeNull();
});
