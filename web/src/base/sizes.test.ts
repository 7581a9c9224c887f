import { expect, test } from "vitest";
import { sizeText } from "@/base/sizes";

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
