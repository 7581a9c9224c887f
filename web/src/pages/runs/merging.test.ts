import fc from "fast-check";
import { expect, test } from "vitest";
import { merge, NOTHING, settle, type LoadedPage, type RunRow } from "@/pages/runs/merging";

const START = Date.parse("2026-11-30T12:00:00Z");

function row(at: number, change: Partial<RunRow> = {}): RunRow {
  return {
    id: `run_${String(at).padStart(4, "0")}`,
    name: `run ${at}`,
    kind: "external",
    status: "running",
    experiment: null,
    user: "ann",
    created: new Date(START + at * 1000).toISOString(),
    started: null,
    finished: null,
    values: [],
    ...change,
  };
}

/** Newest first, as the default order has them. */
function page(first: number, count: number, next: string | null = null): LoadedPage {
  return {
    runs: Array.from({ length: count }, (_, at) => row(first - at)),
    columns: [],
    next_cursor: next,
    total: count,
    filter_canonical: "",
    asOf: START + first * 1000 + 500,
  };
}

const ids = (pages: readonly LoadedPage[]): string[] =>
  pages.flatMap((one) => one.runs.map(({ id }) => id));

test("a changed run changes in its place", () => {
  const pages = [page(9, 3)];
  const now = row(8, { status: "failed" });
  const merged = merge(pages, NOTHING, { asked: [now.id], answered: [now], sort: undefined });
  expect(ids(merged.pages)).toEqual(ids(pages));
  expect(merged.pages[0]?.runs[1]).toBe(now);
  expect(merged.pages[0]?.runs[0]).toBe(pages[0]?.runs[0]);
  expect(merged.waiting).toEqual(NOTHING);
});

test("a new run waits, and stands at its head when it may", () => {
  const pages = [page(9, 3, "more")];
  const news = { asked: ["run_0010"], answered: [row(10)], sort: undefined };
  const merged = merge(pages, NOTHING, news);
  expect(ids(merged.pages)).toEqual(ids(pages));
  expect(merged.waiting.fresh).toEqual([row(10)]);
  const settled = settle(merged.pages, merged.waiting);
  expect(ids(settled)).toEqual(["run_0010", "run_0009", "run_0008", "run_0007"]);
  expect(settled[0]?.total).toBe(4);
});

test.each([undefined, "-metrics.loss"])("an old run of a page below is not new by %s", (sort) => {
  const pages = [page(9, 3, "more")];
  const merged = merge(pages, NOTHING, { asked: ["run_0002"], answered: [row(2)], sort });
  expect(merged.waiting.fresh).toEqual([]);
});

test("what the filter finds no more waits to leave, unless it comes back", () => {
  const pages = [page(9, 3)];
  const left = merge(pages, NOTHING, { asked: ["run_0008"], answered: [], sort: undefined });
  expect(ids(left.pages)).toEqual(ids(pages));
  expect(ids(settle(left.pages, left.waiting))).toEqual(["run_0009", "run_0007"]);
  const back = merge(left.pages, left.waiting, {
    asked: ["run_0008"],
    answered: [row(8)],
    sort: undefined,
  });
  expect(back.waiting).toEqual(NOTHING);
});

test("a value by which rows are ordered may move them, another does not", () => {
  const pages = [page(9, 3)];
  const now = row(8, { name: "renamed" });
  const news = { asked: [now.id], answered: [now] };
  expect(merge(pages, NOTHING, { ...news, sort: "user" }).waiting.isOutOfOrder).toBe(false);
  expect(merge(pages, NOTHING, { ...news, sort: "-name" }).waiting.isOutOfOrder).toBe(true);
  expect(merge(pages, NOTHING, { ...news, sort: "metrics.a" }).waiting.isOutOfOrder).toBe(true);
});

test("whatever is told in whatever order, the table ends with what there is, once each", () => {
  const event = fc.record({ at: fc.integer({ min: 0, max: 30 }), isThere: fc.boolean() });
  fc.assert(
    fc.property(fc.array(event), fc.integer({ min: 0, max: 10 }), (events, settleEvery) => {
      let pages = [page(9, 10)];
      let waiting = NOTHING;
      const there = new Set(ids(pages));
      events.forEach(({ at, isThere }, count) => {
        const told = row(at);
        if (isThere) there.add(told.id);
        else there.delete(told.id);
        const answered = isThere ? [told] : [];
        ({ pages, waiting } = merge(pages, waiting, {
          asked: [told.id],
          answered,
          sort: undefined,
        }));
        if (settleEvery > 0 && count % settleEvery === 0) {
          pages = settle(pages, waiting);
          waiting = NOTHING;
        }
      });
      pages = settle(pages, waiting);
      expect(ids(pages)).toEqual([...there].sort().reverse());
      expect(pages[0]?.total).toBe(there.size);
    }),
  );
});
