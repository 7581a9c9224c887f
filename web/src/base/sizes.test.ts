import fc from "fast-check";
import { expect, test } from "vitest";
import { exactSizeText, sizeFromText, sizeText } from "@/base/sizes";

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1 KiB"],
  [1536, "1.5 KiB"],
  [2 << 20, "2 MiB"],
  [256 << 20, "256 MiB"],
  [1024 * 1024 - 1, "1 MiB"],
])("%s bytes are %s", (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});

test.each([
  [0, "0 B"],
  [1000, "1000 B"],
  [64 << 20, "64 MiB"],
  [(64 << 20) + 1024, "65537 KiB"],
])("%s bytes are exactly %s", (bytes, text) => {
  expect(exactSizeText(bytes)).toBe(text);
});

test("an exact size is read back to the byte", () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (bytes) => {
      expect(sizeFromText(exactSizeText(bytes))).toBe(bytes);
    }),
  );
});

test.each([
  ["64 MiB", 64 << 20],
  ["64mib", 64 << 20],
  ["1.5 KiB", 1536],
  ["10 000", 10_000],
  ["10_000 b", 10_000],
  ["0.3 B", null],
  ["64 MB", null],
  ["MiB", null],
  ["-1 B", null],
  ["9999999 PiB", null],
])("%s is read as %s bytes", (text, bytes) => {
  expect(sizeFromText(text)).toBe(bytes);
});
