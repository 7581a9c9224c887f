import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compared, shownRows, shownTexts } from "@/pages/compare/differences";

describe("compared", () => {
  it("counts what a run lacks as different", () => {
    expect(compared([{ a: 1, b: 2 }, { a: 1 }, null])).toEqual([
      { key: "a", texts: ["1", "1", null], is_different: true },
      { key: "b", texts: ["2", null, null], is_different: true },
    ]);
  });

  it("finds no difference between a document and itself", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (document) => {
        expect(compared([document, document]).some((row) => row.is_different)).toBe(false);
      }),
    );
  });
});

describe("shownRows", () => {
  const rows = compared([
    { a: 1, b: 2 },
    { a: 1, b: 3 },
  ]);
  it("shows only what differs, and says how much is the same", () => {
    expect(shownRows(rows, false)).toEqual({ shown: [rows[1]], sameCount: 1 });
    expect(shownRows(rows, true)).toEqual({ shown: rows, sameCount: 1 });
  });
});

describe("shownTexts", () => {
  it("leaves out digits that tell nothing apart", () => {
    expect(shownTexts(["0.0005106746138932631", "0.1", "adam", null])).toEqual([
      "0.0005107",
      "0.1",
      "adam",
      null,
    ]);
  });

  it("shows values that differ as texts that differ", () => {
    expect(shownTexts(["0.12345678901", "0.12345678902"])).toEqual([
      "0.12345678901",
      "0.12345678902",
    ]);
    const text = fc.oneof(fc.double().map(String), fc.string());
    fc.assert(
      fc.property(fc.array(fc.option(text)), (texts) => {
        expect(new Set(shownTexts(texts)).size).toBe(new Set(texts).size);
      }),
    );
  });
});
