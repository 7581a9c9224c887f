import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareSearch, idsFromText, textFromIds } from "@/pages/compare/address";

describe("idsFromText", () => {
  it("reads each id once, in the order of the address", () => {
    expect(idsFromText("b, a,,b ,")).toEqual(["b", "a"]);
    expect(idsFromText(undefined)).toEqual([]);
  });

  it("reads what is written", () => {
    const id = fc.stringMatching(/^run_[0-9a-f-]{1,36}$/);
    fc.assert(
      fc.property(fc.uniqueArray(id), (ids) => {
        expect(idsFromText(textFromIds(ids).ids)).toEqual(ids);
      }),
    );
  });
});

describe("compareSearch", () => {
  it("keeps what it knows", () => {
    const search = {
      ids: "a,b",
      all: true,
      stat: "min",
      best: ["acc"],
      x: "time",
      logy: true,
      q: "loss",
      plot: "scatter",
      axes: ["params.lr"],
      log: ["params.lr"],
      media: "sample",
      step: 0,
    };
    expect(compareSearch(search)).toEqual(search);
  });

  it("leaves out what is no answer", () => {
    expect(
      compareSearch({
        ids: 3,
        all: "yes",
        stat: "last",
        best: "acc",
        axes: [1],
        step: 1.5,
        x: "step",
        z: 1,
      }),
    ).toEqual({});
  });

  it("throws at nothing", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (search) => {
        compareSearch(search);
      }),
    );
  });
});
