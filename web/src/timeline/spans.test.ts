import fc from "fast-check";
import { expect, test } from "vitest";
import { sharesOf } from "@/timeline/shares";
import { laneName, momentText, type RawSpan, shortName, spansOf, spanTime } from "@/timeline/spans";
import { clampView, eachVisible, spanAt, ticksOf, zoomed } from "@/timeline/view";

const ORIGIN = 1_790_000_000_000_000_000;

function raw(name: string, start: number, duration: number, rest: Partial<RawSpan> = {}): RawSpan {
  return {
    stream: "",
    rank: 0,
    track: 0,
    step: null,
    depth: name.split("/").length - 1,
    ...rest,
    name,
    start_ns: ORIGIN + start,
    duration_ns: duration,
  };
}

const drawn = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 0, max: 50 })), {
    maxLength: 60,
  })
  .map((pieces) => {
    let at = 0;
    return pieces.map(([length, gap]) => {
      const span = raw("a", at * 1024, length * 1024);
      at += length + gap;
      return span;
    });
  });

test("lanes stand by stream, rank and track, rows by depth", () => {
  const spans = spansOf([
    raw("b", 0, 10, { stream: "data" }),
    raw("a/b", 1024, 10, { rank: 1 }),
    raw("a", 0, 4096, { rank: 1 }),
    raw("a", 0, 10),
  ]);
  expect(spans.lanes.map(laneName)).toEqual(["default stream", "default stream, rank 1", "data"]);
  expect(spans.lanes[1]?.rows.map((row) => [...row])).toEqual([[2], [1]]);
  expect(spans.length).toBe(4096);
});

test("tracks are numbered by their first spans, and not named where there is one", () => {
  const spans = spansOf([
    raw("late", 4096, 10, { track: 139_000_000 }),
    raw("early", 0, 10, { track: 140_558_880_755_776 }),
    raw("alone", 8192, 10, { stream: "data", track: 140_558_880_755_776 }),
    raw("late", 8192, 10, { track: 139_000_000 }),
  ]);
  expect(spans.lanes.map(laneName)).toEqual([
    "default stream, track 1",
    "default stream, track 2",
    "data",
  ]);
  expect(spans.lanes[0]?.rows.map((row) => [...row])).toEqual([[1]]);
  expect([...spans.lane]).toEqual([1, 0, 2, 1]);
});

test("own times of all paths are the time of the outermost spans", () => {
  const spans = spansOf([
    raw("step", 0, 100_000),
    raw("step/fwd", 10_000, 40_000),
    raw("step/fwd/attn", 20_000, 10_000),
    raw("step", 200_000, 50_000),
  ]);
  const shares = sharesOf(spans);
  const self = Object.fromEntries(shares.map((one) => [one.path, Math.round(one.self / 1000)]));
  expect(self).toEqual({ step: 110, "step/fwd": 30, "step/fwd/attn": 10 });
  expect(shares.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
});

test("each span in sight is drawn or stands behind a mark in its pixel", () => {
  fc.assert(
    fc.property(drawn, fc.integer({ min: 1, max: 40 }), (list, pixels) => {
      const spans = spansOf(list);
      const row = spans.lanes[0]?.rows[0] ?? new Uint32Array();
      const sight = { from: 0, to: Math.max(spans.length, 1), pixels };
      const marks: [number, number][] = [];
      eachVisible(spans, row, sight, (_, left, width) => marks.push([left, left + width]));
      const perPixel = sight.to / pixels;
      for (const index of row) {
        const middle = ((spans.start[index] ?? 0) + (spans.end[index] ?? 0)) / 2 / perPixel;
        expect(marks.some(([left, right]) => left - 1 <= middle && middle <= right + 1)).toBe(true);
      }
      expect(marks.length).toBeLessThanOrEqual(2 * pixels + 2);
    }),
  );
});

test("the span at its own middle is found", () => {
  fc.assert(
    fc.property(drawn, (list) => {
      const spans = spansOf(list);
      const row = spans.lanes[0]?.rows[0] ?? new Uint32Array();
      for (const index of row) {
        const middle = ((spans.start[index] ?? 0) + (spans.end[index] ?? 0)) / 2;
        expect(spanAt(spans, row, middle, 0)).toBe(index);
      }
    }),
  );
});

test("a view stays within the spans, and a zoom leaves the pointer where it is", () => {
  fc.assert(
    fc.property(
      fc.double({ min: -1e9, max: 1e9, noNaN: true }),
      fc.double({ min: 1, max: 1e9, noNaN: true }),
      fc.double({ min: 0.01, max: 100, noNaN: true }),
      (from, width, factor) => {
        const view = clampView({ from, to: from + width }, 1e9);
        expect(view.from).toBeGreaterThanOrEqual(0);
        expect(view.to).toBeLessThanOrEqual(1e9 + 1);
        const at = view.from + (view.to - view.from) / 4;
        const next = zoomed(view, at, factor);
        expect((at - next.from) / (next.to - next.from)).toBeCloseTo(0.25, 5);
      },
    ),
  );
});

test("ticks are round, few and in sight", () => {
  expect(ticksOf({ from: 0, to: 1000 }, 5)).toEqual([0, 200, 400, 600, 800, 1000]);
  expect(ticksOf({ from: 130, to: 480 }, 4)).toEqual([200, 300, 400]);
});

test("times and names are written short", () => {
  expect([0, 999, 1500, 2_345_678, 1e9, 90e9].map(spanTime)).toEqual([
    "0 ns",
    "999 ns",
    "1.5 µs",
    "2.346 ms",
    "1 s",
    "1.5 min",
  ]);
  expect([0, 350e6, 60e9, 80e9].map(momentText)).toEqual(["0", "350 ms", "1 min", "1 min 20 s"]);
  expect(shortName("a/b/c")).toBe("c");
});
