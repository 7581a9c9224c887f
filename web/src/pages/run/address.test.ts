import fc from "fast-check";
import { expect, test } from "vitest";
import { runAddress } from "@/pages/run/address";

test("an address is read as it was written", () => {
  const address = { tab: "logs", level: "warning", log: "loss", attempt: 2, step: 0 } as const;
  expect(runAddress(address)).toEqual(address);
});

test.each([
  { tab: "logs", start: "first", level: "error", log: "x" },
  { tab: "media", steps: "all", size: "large", media: "conf" },
  { tab: "events", events: "warnings" },
  { tab: "overview", series: "loss", stream: "data", rank: 3, config: "lr", flat: ["config"] },
])("%j holds what its tab shows", (address) => {
  expect(runAddress(address)).toEqual(address);
});

test("what makes no sense is left out, and what is so without it too", () => {
  expect(
    runAddress({
      ...{ start: "newest", steps: "one", size: "huge", events: "all", flat: ["x", 3] },
      ...{ rank: -1, stream: "", series: null, config: {} },
    }),
  ).toEqual({});
});

test("the first tab and the lowest level are not written", () => {
  expect(runAddress({ tab: "charts", level: "debug", log: "" })).toEqual({});
});

test("a text that the router read as a number is a text", () => {
  expect(runAddress({ params: 12 })).toEqual({ params: "12" });
});

test("whatever stands in an address, reading it twice is reading it once", () => {
  const words = fc.constantFrom("first", "all", "large", "warnings", "config", "spec");
  const values = fc.oneof(
    words,
    fc.string(),
    fc.double(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
  );
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom(
          ...["tab", "attempt", "step", "log", "tree", "level", "from", "start", "steps", "size"],
          ...["events", "series", "stream", "rank", "config", "flat"],
        ),
        fc.oneof(values, fc.array(values)),
      ),
      (search) => {
        const once = runAddress(search);
        expect(runAddress({ ...once })).toEqual(once);
      },
    ),
  );
});
