import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextSort, ordered, sortFromText, type Experiment } from "@/pages/experiments/order";

function experiment(name: string, more: Partial<Experiment> = {}): Experiment {
  return {
    id: `exp_${name}`,
    project: "default",
    name,
    description: "",
    archived: null,
    runs: 0,
    runs_active: 0,
    last_activity: null,
    created: "2026-01-01T00:00:00Z",
    etag: '"1"',
    ...more,
  };
}

describe("sortFromText", () => {
  it("reads a field and its direction", () => {
    expect(sortFromText("-runs")).toEqual({ field: "runs", isDescending: true });
    expect(sortFromText("name")).toEqual({ field: "name", isDescending: false });
  });

  it.each([undefined, "", "-", "--name", "color"])("takes %j for the newest first", (text) => {
    expect(sortFromText(text)).toEqual({ field: "created", isDescending: true });
  });

  it("reads what a click writes", () => {
    const field = fc.constantFrom("name", "runs", "activity", "created");
    fc.assert(
      fc.property(field, field, fc.boolean(), (now, clicked, isDescending) => {
        const found = sortFromText(nextSort({ field: now, isDescending }, clicked));
        expect(found.field).toBe(clicked);
        if (now === clicked) expect(found.isDescending).toBe(!isDescending);
      }),
    );
  });
});

describe("ordered", () => {
  const rows = [
    experiment("b10", { runs: 1, last_activity: "2026-02-01T00:00:00Z" }),
    experiment("b9", { runs: 3 }),
    experiment("A", { runs: 2, last_activity: "2026-03-01T00:00:00Z" }),
  ];
  const names = (sort: string, part = ""): string[] =>
    ordered(rows, sortFromText(sort), part).map(({ name }) => name);

  it("orders names as people count", () => {
    expect(names("name")).toEqual(["A", "b9", "b10"]);
  });

  it("puts what was never active behind what was", () => {
    expect(names("-activity")).toEqual(["A", "b10", "b9"]);
  });

  it("orders by runs, and finds parts of names in any case", () => {
    expect(names("-runs")).toEqual(["b9", "A", "b10"]);
    expect(names("name", " B1")).toEqual(["b10"]);
  });

  it("keeps every row once", () => {
    const one = fc.record({
      name: fc.string({ minLength: 1 }),
      runs: fc.nat(),
      last_activity: fc.constantFrom(null, "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"),
    });
    fc.assert(
      fc.property(fc.array(one), fc.constantFrom("name", "-activity", "runs"), (given, sort) => {
        const made = given.map((row, at) => experiment(row.name, { ...row, id: String(at) }));
        const found = ordered(made, sortFromText(sort), "");
        expect(found.map(({ id }) => id).sort()).toEqual(made.map(({ id }) => id).sort());
      }),
    );
  });
});
