import { expect, test } from "vitest";
import { Places } from "@/pages/runs/places";

/** Work that ends when it is told to. */
function held() {
  let end = (): void => undefined;
  const done = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { done, end };
}

const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

test("so much is done at a time, what came last first, and what is no longer wanted not at all", async () => {
  const places = new Places(1);
  const begun: string[] = [];
  const first = held();
  const { signal } = new AbortController();
  const left = new AbortController();
  const work = (name: string, end: Promise<void>, by = signal): Promise<void> =>
    places.with(by, () => {
      begun.push(name);
      return end;
    });
  const all = [
    work("first", first.done),
    work("second", Promise.resolve()),
    work("left", Promise.resolve(), left.signal),
    work("last", Promise.resolve()),
  ];
  const refused = expect(all[2]).rejects.toThrow();
  await rest();
  expect(begun).toEqual(["first"]);
  left.abort();
  first.end();
  await Promise.allSettled(all);
  await refused;
  expect(begun).toEqual(["first", "last", "second"]);
});

test("work that fails leaves its place", async () => {
  const places = new Places(1);
  const { signal } = new AbortController();
  await expect(places.with(signal, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  await expect(places.with(signal, () => Promise.resolve(3))).resolves.toBe(3);
});
