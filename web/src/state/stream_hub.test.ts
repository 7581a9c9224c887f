import { expect, test } from "vitest";
import { waitSeconds, type StreamNews } from "@/state/stream";
import { StreamHub, type Tell } from "@/state/stream_hub";

function madeHub() {
  const open = new Map<string, Tell>();
  const opened: string[] = [];
  const hub = new StreamHub((path, tell) => {
    open.set(path, tell);
    opened.push(path);
    return { state: "live", close: () => open.delete(path) };
  });
  return { hub, open, opened };
}

test("followers of one path share a connection, which ends with the last of them", () => {
  const { hub, open, opened } = madeHub();
  const heard: StreamNews[][] = [[], []];
  const leaves = heard.map((news) => hub.follow("/a", (one) => news.push(one)));
  open.get("/a")?.({ type: "frame", kind: "runs", data: 1 });
  expect(opened).toEqual(["/a"]);
  for (const news of heard) {
    expect(news).toEqual([
      { type: "state", state: "live" },
      { type: "frame", kind: "runs", data: 1 },
    ]);
  }
  leaves[0]?.();
  leaves[0]?.();
  expect([...open.keys()]).toEqual(["/a"]);
  leaves[1]?.();
  expect(open.size).toBe(0);
  hub.follow("/a", () => undefined);
  expect(opened).toEqual(["/a", "/a"]);
});

test("who leaves while it is told something hears no more and disturbs nobody", () => {
  const { hub, open } = madeHub();
  const heard: string[] = [];
  const leave = hub.follow("/a", (news) => {
    heard.push(`first ${news.type}`);
    if (news.type === "gap") leave();
  });
  hub.follow("/a", (news) => heard.push(`second ${news.type}`));
  open.get("/a")?.({ type: "gap" });
  open.get("/a")?.({ type: "gap" });
  expect(heard).toEqual(["first state", "second state", "first gap", "second gap", "second gap"]);
});

test("waits grow up to half a minute", () => {
  expect([0, 1, 2, 3, 4, 5, 100].map(waitSeconds)).toEqual([1, 2, 5, 10, 30, 30, 30]);
});
