import fc from "fast-check";
import { expect, test } from "vitest";
import { changedSearch, readSearch } from "@/pages/runs/address";
import { DEFAULT_COLUMNS } from "@/pages/runs/columns";

test("an address says what it shows and nothing else", () => {
  expect(readSearch({ filter: " ", sort: 3, columns: "x", trash: "yes", other: 1 })).toEqual({
    sort: "3",
  });
  expect(readSearch({ columns: [...DEFAULT_COLUMNS] })).toEqual({});
});

test("an address that was read is read as itself", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom("filter", "columns", "trash"), fc.jsonValue()),
      (given) => {
        const once = readSearch(given);
        expect(readSearch({ ...once })).toEqual(once);
      },
    ),
  );
});

test("a change takes out what is no more, and keeps what is not its own", () => {
  const search = { filter: "a = 1", view: "view_1", project: "ads" };
  expect(changedSearch(search, { view: undefined, sort: "name" })).toEqual({
    filter: "a = 1",
    sort: "name",
    project: "ads",
  });
});
