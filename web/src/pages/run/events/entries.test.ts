import { expect, test } from "vitest";
import { entryText } from "@/pages/run/events/entries";
import type { LifeEntry } from "@/state/run";

function entry(parts: Partial<LifeEntry>): LifeEntry {
  return { id: 1, time: "2026-01-01T00:00:00Z", kind: "status", user: "ann", ...parts };
}

test("a change of status names both, and why", () => {
  expect(entryText(entry({ before: "running", after: "failed", reason: "OOM" }))).toEqual({
    title: "running → failed",
    detail: "OOM",
    tone: "bad",
  });
});

test("a warning says what was dropped in all", () => {
  const warning = entry({
    kind: "warning",
    code: "TRACKING_BUDGET",
    message: "The budget points is spent.",
    counts: { points: 1200, tags: 0 },
  });
  expect(entryText(warning)).toEqual({
    title: "TRACKING_BUDGET",
    detail: "The budget points is spent. In all: 1 200 points.",
    tone: "warn",
  });
});
