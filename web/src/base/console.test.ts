import fc from "fast-check";
import { expect, test } from "vitest";
import { lastState, withoutCut } from "@/base/console";

test.each([
  ["plain", "plain"],
  ["  0%\r 50%\r100%", "100%"],
  ["abcdef\rXY", "XYcdef"],
  ["done\r", "done"],
  ["long line\r\u001b[Kend", "end"],
  ["a\r\nb", "a\nb"],
  ["\u001b[31mred\u001b[0m", "red"],
  ["bar 🚂🚂\rbar ok", "bar ok"],
  ["\u001b]0;title\u0007x", "x"],
])("%j is seen as %j", (text, seen) => {
  expect(lastState(text)).toBe(seen);
});

test("what has no control characters is seen as it is, and what is seen has no carriage return", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", "é", "\r", "\n", " ", "1") }), (text) => {
      expect(lastState(text)).not.toContain("\r");
      if (!text.includes("\r")) expect(lastState(text)).toBe(text);
    }),
  );
});

/** What a terminal does, step by step: each part is laid over what stood there before. */
function laidOver(line: string): string {
  let shown: string[] = [];
  for (const part of line.split("\r")) {
    const letters = Array.from(part.replaceAll("\u001b[K", ""));
    shown = part.includes("\u001b[K") ? letters : [...letters, ...shown.slice(letters.length)];
  }
  return shown.join("");
}

test("a line is what its parts leave when each is laid over the one before", () => {
  const parts = fc.array(
    fc.tuple(fc.constantFrom("", "\u001b[K"), fc.string({ unit: fc.constantFrom("a", "é", "🚂") })),
  );
  fc.assert(
    fc.property(parts, (found) => {
      const line = found.map(([clear, text]) => clear + text).join("\r");
      expect(lastState(line)).toBe(laidOver(line));
    }),
  );
});

test("a line is read once, however often it goes back to its first column", () => {
  // Copied for each of its parts, this one would not be read within the limit of the test.
  const line = "x".repeat(400_000) + "\ra".repeat(400_000);
  expect(lastState(line)).toHaveLength(400_000);
}, 60_000);

test("a cut line says how much is missing", () => {
  expect(withoutCut("x [cut: 120 more characters]")).toEqual({ text: "x", missing: 120 });
  expect(withoutCut("x [cut: no]")).toEqual({ text: "x [cut: no]", missing: 0 });
});
