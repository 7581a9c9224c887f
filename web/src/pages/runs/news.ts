/** What the bar over a table says of news that wait. */
import { counted } from "@/base/counts";
import { wholeNumber } from "@/base/numbers";
import type { Waiting } from "@/pages/runs/merging";

export function newsText(waiting: Waiting): string {
  const parts: string[] = [];
  if (waiting.fresh.length > 0) parts.push(counted(waiting.fresh.length, "new run"));
  if (waiting.gone.size > 0) parts.push(`${wholeNumber(waiting.gone.size)} gone`);
  if (parts.length === 0) return "The order has changed: show it";
  return `${parts.join(", ")}: show`;
}
