/** The life of a run in words. */
import { countsText } from "@/base/counts";
import type { LifeEntry } from "@/state/run";

export type Tone = "plain" | "warn" | "bad" | "good";

/** What one entry says. */
interface EntryText {
  title: string;
  detail: string;
  tone: Tone;
}

export function entryText(entry: LifeEntry): EntryText {
  const reason = entry.reason ?? "";
  switch (entry.kind) {
    case "status":
      return { title: statusTitle(entry), detail: reason, tone: toneOf(entry.after ?? "") };
    case "renamed":
      return {
        title: "Renamed",
        detail: `${quoted(entry.before)} → ${quoted(entry.after)}`,
        tone: "plain",
      };
    case "moved":
      return {
        title: "Moved to another experiment",
        detail: `${entry.before ?? "none"} → ${entry.after ?? "none"}`,
        tone: "plain",
      };
    case "trashed":
      return { title: "Put into the trash", detail: reason, tone: "plain" };
    case "restored":
      return { title: "Restored from the trash", detail: reason, tone: "plain" };
    case "pruned":
      return {
        title: "Deleted for age",
        detail: withCounts(entry.message ?? "", entry.counts ?? {}),
        tone: "plain",
      };
    case "warning":
      return {
        title: entry.code ?? "Warning",
        detail: withCounts(entry.message ?? "", entry.counts ?? {}),
        tone: "warn",
      };
  }
}

function statusTitle(entry: LifeEntry): string {
  if (entry.after == null) return "Status";
  return entry.before == null ? entry.after : `${entry.before} → ${entry.after}`;
}

function toneOf(status: string): Tone {
  if (status === "failed" || status === "lost") return "bad";
  return status === "succeeded" ? "good" : "plain";
}

function quoted(text: string | null | undefined): string {
  return `“${text ?? ""}”`;
}

/** The message of a warning names what was hit first; the counts say how it stands. */
function withCounts(message: string, counts: Record<string, number>): string {
  const text = countsText(counts);
  if (text === "") return message;
  return message === "" ? text : `${message} In all: ${text}.`;
}
