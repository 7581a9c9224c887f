import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  bestOf,
  directionOf,
  isDifferent,
  turned,
  usualDirection,
} from "@/pages/compare/summaries";

describe("usualDirection", () => {
  it.each(["acc", "val_accuracy", "eval/f1", "AUC", "mean reward"])("wants more of %s", (key) => {
    expect(usualDirection(key)).toBe("max");
  });
  it.each(["loss", "vacclimate", "error", "time_ms/step", "mapping"])("wants less of %s", (key) => {
    expect(usualDirection(key)).toBe("min");
  });
});

describe("turned", () => {
  it("turns the direction round, and back to an address that says nothing", () => {
    fc.assert(
      fc.property(fc.constantFrom("loss", "acc"), fc.array(fc.string()), (key, others) => {
        const chosen = others.filter((one) => one !== key && one !== `-${key}`);
        const once = turned(key, key, chosen);
        expect(directionOf(key, key, once)).not.toBe(directionOf(key, key, chosen));
        expect(turned(key, key, once)).toEqual(chosen);
      }),
    );
  });
});

describe("bestOf", () => {
  it("marks every run that has the best value", () => {
    expect(bestOf([3, 1, null, 1], "min")).toEqual(new Set([1, 3]));
    expect(bestOf([3, 1, null, 1], "max")).toEqual(new Set([0]));
  });

  it("marks nothing where no value is better than another", () => {
    expect(bestOf([2, 2, 2], "min")).toEqual(new Set());
    expect(bestOf([2, null], "min")).toEqual(new Set());
    expect(bestOf([], "max")).toEqual(new Set());
  });

  it("never marks what is not finite, and nothing is better than what it marks", () => {
    const value = fc.option(fc.double(), { nil: null });
    fc.assert(
      fc.property(fc.array(value), fc.constantFrom("min", "max"), (values, direction) => {
        for (const at of bestOf(values, direction)) {
          const best = values[at];
          expect(Number.isFinite(best)).toBe(true);
          for (const other of values) {
            if (other === null || !Number.isFinite(other)) continue;
            expect(direction === "min" ? other >= Number(best) : other <= Number(best)).toBe(true);
          }
        }
      }),
    );
  });
});

describe("isDifferent", () => {
  it("counts a missing value as another one, and NaN as itself", () => {
    expect(isDifferent([1, 1])).toBe(false);
    expect(isDifferent([1, null])).toBe(true);
    expect(isDifferent([Number.NaN, Number.NaN])).toBe(false);
    expect(isDifferent([null, null])).toBe(false);
  });
});
