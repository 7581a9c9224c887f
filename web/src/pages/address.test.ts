import fc from "fast-check";
import { expect, test } from "vitest";
import { exactly, parseSearch, rootSearch } from "@/pages/address";

const read = exactly((search) => (typeof search.a === "string" ? { a: search.a } : {}));

test("what a reader does not understand is nothing, whatever it was", () => {
  const raw = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(raw, (search) => {
      // As the router lays one over the other.
      const shown = Object.entries({ ...search, ...read(search) });
      const left = shown.filter(([name, value]) => name !== "project" && value !== undefined);
      const isText = typeof search.a === "string";
      expect(Object.fromEntries(left)).toEqual(isText ? { a: search.a } : {});
    }),
  );
});

test("what is read elsewhere stays", () => {
  expect(read({ project: "p", a: "x", b: 1 })).toEqual({ a: "x", b: undefined });
  expect({ project: "p", ...read({ project: "p" }) }).toEqual({ project: "p" });
});

test.each(["2026", "1e5", "007", "true", "null", "-0", "a b", "ä"])(
  "a project may be called %s",
  (project) => {
    expect(rootSearch(parseSearch(`?project=${encodeURIComponent(project)}`))).toEqual({ project });
  },
);

test.each(["", "[1]", "{}", '""'])("%s is no project", (text) => {
  expect(rootSearch(parseSearch(`?project=${encodeURIComponent(text)}`))).toEqual({});
});

test("numbers, lists and texts are what they were", () => {
  expect(parseSearch('?step=12&columns=["a","b"]&q=x&from=-3.5')).toEqual({
    step: 12,
    columns: ["a", "b"],
    q: "x",
    from: -3.5,
  });
});
