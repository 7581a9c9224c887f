import fc from "fast-check";
import { expect, test } from "vitest";
import { withEach } from "@/pages/runs/acting";

test("each run is tried once, at most four at a time, and what fails is told", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.string()), async (ids) => {
      let running = 0;
      const tried: string[] = [];
      const outcome = await withEach(ids, async (id) => {
        running += 1;
        expect(running).toBeLessThanOrEqual(4);
        tried.push(id);
        await Promise.resolve();
        running -= 1;
        if (id.length % 2 === 1) throw new Error(id);
      });
      expect([...tried].sort()).toEqual([...ids].sort());
      expect(outcome.failed.every(({ id, error }) => error.message === id)).toBe(true);
      expect([...outcome.done, ...outcome.failed.map(({ id }) => id)].sort()).toEqual(
        [...ids].sort(),
      );
    }),
  );
});
