import fc from "fast-check";
import { expect, test } from "vitest";
import { runAddress } from "@/pages/run/address";

test("an address is read as it was written", () => {
  const address = { tab: "logs", level: "warning", log: "loss", attempt: 2, step: 0 } as const;
  expect(runAddress(address)).toEqual(address);
});

test("the first tab and the lowest level are not written", () => {
  expect(runAddress({ tab: "charts", level: "debug", log: "" })).toEqual({});
});

test("a text that the router read as a number is a text", () => {
  expect(runAddress({ params: 12 })).toEqual({ params: "12" });
});

test("whatever stands in an address, reading it twice is reading it once", () => {
  const values = fc.oneof(fc.string(), fc.double(), fc.integer(), fc.boolean(), fc.constant(null));
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom("tab", "attempt", "step", "log", "tree", "level", "from"),
        values,
      ),
      (search) => {
        const once = runAddress(search);
        expect(runAddress({ ...once })).toEqual(once);
      },
    ),
  );
});
