import { expect, test } from "vitest";
import type { StreamState } from "@/state/stream";
import { StreamHub, type Tell } from "@/state/stream_hub";
import { SILENCE_SECONDS, type FromWorker } from "@/state/stream_messages";
import { StreamTab } from "@/state/stream_tab";

/** A tab at a hub whose streams are made by hand; `now` is in milliseconds. */
function madeTab(state: StreamState = "live") {
  const open = new Map<string, Tell>();
  const opened: string[] = [];
  const hub = new StreamHub((path, tell) => {
    open.set(path, tell);
    opened.push(path);
    return { state, close: () => open.delete(path) };
  });
  const heard: string[] = [];
  const tab = new StreamTab(hub, (message: FromWorker) => {
    if (message.type === "ended") heard.push("ended");
    else if (message.news.type === "state") heard.push(`${message.path} ${message.news.state}`);
    else heard.push(`${message.path} ${message.news.type}`);
  });
  return { tab, open, opened, heard };
}
const TOO_LONG = SILENCE_SECONDS * 1000 + 1;

test("a tab that was given up for its silence is told, and its next beat begins its streams anew", () => {
  const { tab, open, heard } = madeTab();
  tab.hear({ type: "follow", path: "/a" }, 0);
  expect(tab.look(TOO_LONG)).toBe(true);
  expect(open.size).toBe(0);
  expect(heard).toEqual(["/a live", "ended"]);
  // Once is enough: a tab that is gone for good hears nothing.
  expect(tab.look(2 * TOO_LONG)).toBe(false);

  tab.hear({ type: "beat", paths: ["/a"] }, 3 * TOO_LONG);
  expect([...open.keys()]).toEqual(["/a"]);
  open.get("/a")?.({ type: "frame", kind: "runs", data: 1 });
  expect(heard).toEqual(["/a live", "ended", "/a live", "/a gap", "/a frame"]);
  expect(tab.look(3 * TOO_LONG + 1)).toBe(false);
});

test("the gap is told once, as soon as the stream tells what comes after it", () => {
  const { tab, open, heard } = madeTab("connecting");
  tab.hear({ type: "beat", paths: ["/a"] }, 0);
  expect(heard).toEqual(["/a connecting"]);
  open.get("/a")?.({ type: "state", state: "live" });
  open.get("/a")?.({ type: "state", state: "lost" });
  open.get("/a")?.({ type: "state", state: "live" });
  expect(heard).toEqual(["/a connecting", "/a live", "/a gap", "/a lost", "/a live"]);
});

test("a tab that beats is kept, opens nothing twice and hears of no gap", () => {
  const { tab, opened, heard } = madeTab();
  tab.hear({ type: "follow", path: "/a" }, 0);
  for (let beat = 1; beat < 20; beat++) {
    tab.hear({ type: "beat", paths: ["/a"] }, beat * SILENCE_SECONDS * 500);
    expect(tab.look(beat * SILENCE_SECONDS * 500 + 1)).toBe(false);
  }
  expect(opened).toEqual(["/a"]);
  expect(heard).toEqual(["/a live"]);
});

test("what a beat does not name is left, and an end leaves all", () => {
  const { tab, open } = madeTab();
  for (const path of ["/a", "/b", "/c"]) tab.hear({ type: "follow", path }, 0);
  tab.hear({ type: "leave", path: "/a" }, 1);
  tab.hear({ type: "beat", paths: ["/b"] }, 2);
  expect([...open.keys()]).toEqual(["/b"]);
  tab.hear({ type: "end" }, 3);
  expect(open.size).toBe(0);
  expect(tab.look(4 * TOO_LONG)).toBe(false);
});
