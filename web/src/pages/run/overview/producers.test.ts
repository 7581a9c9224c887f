import fc from "fast-check";
import { expect, test } from "vitest";
import { askedProducer, producerName, producersOf } from "@/pages/run/overview/producers";

const producers = fc.record({
  stream: fc.constantFrom("", "data", "eval"),
  rank: fc.nat({ max: 3 }),
});

test("everybody who has written a document can be chosen, once, in an order of their own", () => {
  fc.assert(
    fc.property(fc.array(producers), (documents) => {
      const found = producersOf(documents, null);
      const names = found.map((one) => producerName(one));
      expect(new Set(names).size).toBe(names.length);
      expect(new Set(names)).toEqual(new Set(documents.map((one) => producerName(one))));
      expect(producersOf([...documents].reverse(), null)).toEqual(found);
    }),
  );
});

test("the default stream stands first, and whom an address asks for stands among them", () => {
  const found = producersOf([{ stream: "data", rank: 3 }], { stream: "", rank: 0 });
  expect(found.map((one) => producerName(one))).toEqual(["default stream", "data, rank 3"]);
});

test("an address names a producer by what is not the default", () => {
  expect(askedProducer({})).toBeNull();
  expect(askedProducer({ rank: 2 })).toEqual({ stream: "", rank: 2 });
  expect(askedProducer({ stream: "data" })).toEqual({ stream: "data", rank: 0 });
});
