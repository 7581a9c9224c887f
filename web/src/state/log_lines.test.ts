import fc from "fast-check";
import { expect, test } from "vitest";
import { isLastPage, type LogLine, NOTHING_READ, withNews } from "@/state/log_lines";

function line(id: number, message = ""): LogLine {
  return { id, message, fields: null } as LogLine;
}

test("in whatever order pages come, each line is there once and in its place", () => {
  const page = fc.record({
    type: fc.constantFrom("later" as const, "earlier" as const),
    from: fc.integer({ min: 1, max: 30 }),
    count: fc.integer({ min: 0, max: 10 }),
  });
  fc.assert(
    fc.property(fc.array(page), (pages) => {
      let state = NOTHING_READ;
      for (const { type, from, count } of pages) {
        const lines = Array.from({ length: count }, (_, at) => line(from + at));
        state = withNews(state, { type, lines, prunedCount: 0, isEnd: false });
      }
      const ids = state.lines.map(({ id }) => id);
      expect(ids).toEqual([...new Set(ids)].sort((one, other) => one - other));
    }),
  );
});

test("the newest lines have none behind them, and an error keeps what was read", () => {
  const read = withNews(NOTHING_READ, {
    type: "earlier",
    lines: [line(5)],
    prunedCount: 2,
    isEnd: false,
  });
  expect(read).toMatchObject({ hasEarlier: true, hasLater: false, prunedCount: 2, isFirst: false });
  const failed = withNews(read, { type: "failed", error: new Error("no") });
  expect(failed.lines).toHaveLength(1);
});

test("a page that is short for its bytes is not the last", () => {
  expect(isLastPage([])).toBe(true);
  expect(isLastPage([line(1)])).toBe(true);
  expect(isLastPage(Array.from({ length: 600 }, (_, at) => line(at, "x".repeat(16_000))))).toBe(
    false,
  );
  expect(isLastPage(Array.from({ length: 1_000 }, (_, at) => line(at)))).toBe(false);
});
