import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { axisOf } from "@/pages/compare/plots/axis";
import { chosenFields, fieldsOf, type Field } from "@/pages/compare/plots/fields";

type Comparison = Parameters<typeof fieldsOf>[0];

function summary(last: number | "NaN", min: number | null): object {
  return { last_value: last, min_value: min, max_value: min, mean: min };
}

const comparison = {
  params: [
    { key: "lr", texts: ["0.1", "1e-3"], is_different: true },
    { key: "optimizer", texts: ["adam", "sgd"], is_different: true },
    { key: "only", texts: ["1", null], is_different: true },
  ],
  series: [
    { key: "loss", labels: { split: "val" }, summaries: [summary(0.5, 0.25), summary("NaN", 0.5)] },
  ],
} as unknown as Comparison;

describe("fieldsOf", () => {
  it("has numbers where all values are numbers, else words, and nothing of a run alone", () => {
    const fields = fieldsOf(comparison);
    expect(fields.map(({ name, values }) => [name, values])).toEqual([
      ["params.lr", [0.1, 0.001]],
      ["params.optimizer", ["adam", "sgd"]],
      ["metrics.loss{split=val}.min", [0.25, 0.5]],
      ["metrics.loss{split=val}.max", [0.25, 0.5]],
    ]);
  });
});

describe("chosenFields", () => {
  const fields = fieldsOf(comparison);
  it("takes what the address names, in its order", () => {
    expect(chosenFields(fields, ["params.optimizer", "gone", "params.lr"], 4)).toEqual([
      fields[1],
      fields[0],
    ]);
  });
  it("takes params that differ, and the smallest loss", () => {
    expect(chosenFields(fields, [], 3).map(({ name }) => name)).toEqual([
      "params.lr",
      "params.optimizer",
      "metrics.loss{split=val}.min",
    ]);
    expect(chosenFields([], [], 3)).toEqual([]);
  });
});

function fieldOf(values: Field["values"]): Field {
  return { name: "x", label: "x", kind: "param", values };
}

describe("axisOf", () => {
  it("keeps the order of numbers within its pixels, on both scales", () => {
    const value = fc.double({ min: 1e-300, max: 1e300, noNaN: true });
    fc.assert(
      fc.property(fc.array(value, { minLength: 1 }), fc.boolean(), (values, isLog) => {
        const { places } = axisOf(fieldOf(values), { start: 10, length: 200, isLog });
        values.forEach((one, at) => {
          const place = places[at] ?? NaN;
          expect(place).toBeGreaterThanOrEqual(10 - 1e-6);
          expect(place).toBeLessThanOrEqual(210 + 1e-6);
          values.forEach((other, to) => {
            if (one < other) expect(place).toBeLessThanOrEqual((places[to] ?? NaN) + 1e-6);
          });
        });
      }),
    );
  });

  it("tells what a scale of logarithms has no place for", () => {
    const axis = axisOf(fieldOf([1, 0, -3, 100, null]), { start: 0, length: 100, isLog: true });
    expect(axis.hiddenCount).toBe(2);
    expect(axis.places.map((place) => place === null)).toEqual([false, true, true, false, true]);
  });

  it("stays linear where nothing is above 0", () => {
    const axis = axisOf(fieldOf([0, -1]), { start: 0, length: 100, isLog: true });
    expect([axis.isLog, axis.hiddenCount]).toEqual([false, 0]);
  });

  it("gives each word a place of its own", () => {
    const axis = axisOf(fieldOf(["b", "a", null, "b"]), { start: 0, length: 100, isLog: false });
    expect(axis.places).toEqual([75, 25, null, 75]);
    expect(axis.ticks).toEqual([
      { at: 25, text: "a" },
      { at: 75, text: "b" },
    ]);
  });
});
