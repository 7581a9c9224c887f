import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { type Param, type Run, runQuery, tagsQuery, paramsQuery } from "@/state/run";
import { RunRenewal } from "@/state/renewal";
import {
  applyFrame,
  type RunFrame,
  type StatusFrame,
  type TrackingFrame,
} from "@/state/run_events";
import { type Series, seriesQuery } from "@/state/series";

const RUN = "run_1";
const NOTHING: TrackingFrame = {
  type: "tracking",
  change_seq: 1,
  series: [],
  params: {},
  tags: {},
  media: [],
  is_partial: false,
};

function apply(cache: QueryClient, frame: RunFrame): void {
  const renewal = new RunRenewal(cache, RUN);
  applyFrame(cache, RUN, { frame, renewal });
  renewal.end();
}

function known(): QueryClient {
  const cache = new QueryClient();
  cache.setQueryData(runQuery(RUN).queryKey, { status: "running", name: "a", etag: '"1"' } as Run);
  cache.setQueryData(tagsQuery(RUN).queryKey, { team: "ads", stage: "dev" });
  cache.setQueryData(paramsQuery(RUN).queryKey, { lr: { text: "1" } as Param });
  cache.setQueryData(seriesQuery(RUN).queryKey, [{ key: "loss", labels: {}, count: 1 } as Series]);
  return cache;
}

test("a tag that is gone leaves, others stay", () => {
  const cache = known();
  apply(cache, { ...NOTHING, tags: { team: null, owner: "ann" } });
  expect(cache.getQueryData(tagsQuery(RUN).queryKey)).toEqual({ stage: "dev", owner: "ann" });
});

test("series and params of a frame take their places, and nothing is read anew", () => {
  const cache = known();
  const series = { key: "loss", labels: {}, count: 9 } as Series;
  apply(cache, { ...NOTHING, series: [series], params: { bs: { text: "2" } as Param } });
  expect(cache.getQueryData(seriesQuery(RUN).queryKey)).toEqual([series]);
  expect(Object.keys(cache.getQueryData(paramsQuery(RUN).queryKey) ?? {})).toEqual(["lr", "bs"]);
  expect(cache.getQueryState(seriesQuery(RUN).queryKey)?.isInvalidated).toBe(false);
});

test("a partial frame makes all of the run be read anew", () => {
  const cache = known();
  apply(cache, { ...NOTHING, is_partial: true });
  expect(cache.getQueryState(seriesQuery(RUN).queryKey)?.isInvalidated).toBe(true);
  expect(cache.getQueryState(runQuery(RUN).queryKey)?.isInvalidated).toBe(true);
});

test("a status is shown at once, and the rest of the run is read anew", () => {
  const cache = known();
  const frame: StatusFrame = {
    type: "status",
    status: "failed",
    reason: "OOM",
    name: "b",
    experiment: null,
    trashed: null,
    etag: '"2"',
  };
  apply(cache, frame);
  const run = cache.getQueryData(runQuery(RUN).queryKey);
  expect(run).toMatchObject({ status: "failed", reason: "OOM", name: "b", etag: '"1"' });
  expect(cache.getQueryState(runQuery(RUN).queryKey)?.isInvalidated).toBe(true);
});
