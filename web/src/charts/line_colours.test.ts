import fc from "fast-check";
import { expect, test } from "vitest";
import { LINE_COLOURS } from "@/base/colours";
import { giveColours } from "@/charts/line_colours";

const names = fc.uniqueArray(fc.string(), { maxLength: 40 });

test("a name keeps its colour, whatever comes later", () => {
  fc.assert(
    fc.property(names, names, (first, second) => {
      const memory = new Map<string, number>();
      giveColours(first, memory);
      const known = new Map(memory);
      giveColours(second, memory);
      for (const [name, colour] of known) expect(memory.get(name)).toBe(colour);
    }),
  );
});

test("as many new names as there are colours have one each", () => {
  fc.assert(
    fc.property(names, fc.uniqueArray(fc.string(), { maxLength: LINE_COLOURS }), (old, fresh) => {
      const memory = new Map<string, number>();
      giveColours(old, memory);
      const unknown = fresh.filter((name) => !memory.has(name));
      giveColours(unknown, memory);
      expect(new Set(unknown.map((name) => memory.get(name))).size).toBe(unknown.length);
    }),
  );
});
