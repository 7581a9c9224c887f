/** The filter that finds a run by a part of its name, or by its id; pure. */
import { quoted } from "@/state/fields";

/** Returns a filter in the search's own words; `null`: every run. */
export function findFilter(text: string): string | null {
  // What no name holds is no part of one: breaks and other controls.
  const part = text.replace(/\p{Cc}/gu, " ").trim();
  if (part === "") return null;
  if (/^run_[0-9a-f-]{36}$/.test(part)) return `id = ${quoted(part)}`;
  return `name ~ ${quoted(`*${part}*`)}`;
}
