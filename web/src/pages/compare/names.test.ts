import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { calledRuns, namePieces, nameOf, shortName, wholeName } from "@/pages/compare/names";

const id = fc.stringMatching(/^run_[ab]{12}$/);
const runs = fc.uniqueArray(fc.record({ id, name: fc.constantFrom("", "a", "b") }), {
  selector: (run) => run.id,
  maxLength: 10,
});

describe("calledRuns", () => {
  it("calls a run by its name, and one without a name by its id", () => {
    expect(calledRuns([{ id: "run_1", name: "a" }])).toEqual([{ name: "a", ending: "" }]);
    expect(calledRuns([{ id: "run_1", name: "" }])).toEqual([{ name: "run_1", ending: "" }]);
  });

  it("adds the end of the id where a name repeats, and there alone", () => {
    const called = calledRuns([
      { id: "run_000011112222", name: "a" },
      { id: "run_000011113333", name: "a" },
      { id: "run_000011114444", name: "b" },
    ]);
    expect(called.map(wholeName)).toEqual(["a …2222", "a …3333", "b"]);
  });

  it("takes as much of the id as tells the runs apart", () => {
    const called = calledRuns([
      { id: "run_x12222", name: "a" },
      { id: "run_y12222", name: "a" },
    ]);
    expect(called.map(({ ending }) => ending)).toEqual(["x12222", "y12222"]);
  });

  it("calls no two runs the same, short or whole", () => {
    fc.assert(
      fc.property(runs, fc.integer({ min: 1, max: 40 }), (some, letters) => {
        const called = calledRuns(some);
        expect(new Set(called.map(wholeName)).size).toBe(some.length);
        // Names that are no longer than there is room for.
        expect(new Set(called.map((one) => shortName(one, letters + 20))).size).toBe(some.length);
        called.forEach((one, at) => {
          expect(one.name).toBe(nameOf(some[at] ?? { id: "", name: "" }));
        });
      }),
    );
  });
});

describe("namePieces", () => {
  it("keeps the end of a long name, and a short one whole", () => {
    expect(namePieces("short")).toEqual({ head: "short", tail: "" });
    expect(namePieces("a name that is long, seed=1")).toEqual({
      head: "a name that is long",
      tail: ", seed=1",
    });
  });

  it("loses nothing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), (name) => {
        const { head, tail } = namePieces(name);
        expect(head + tail).toBe(name);
      }),
    );
  });
});

describe("shortName", () => {
  it("cuts the name, and never what tells it from the others", () => {
    const long = { name: "a very long name of a run", ending: "2f3a" };
    expect(shortName(long, 16)).toBe("a ver… run …2f3a");
    expect(shortName({ ...long, ending: "" }, 9)).toBe("a ve… run");
  });
});
