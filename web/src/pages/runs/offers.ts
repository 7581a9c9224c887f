/** What a project has to show in columns, and the order in which it is offered. */
import { lookOf } from "@/pages/runs/columns";
import { fieldText, type Fields } from "@/state/fields";
import { seriesName } from "@/state/series";

export interface Offer {
  kind: "metric" | "param" | "tag" | "attribute";
  text: string;
  label: string;
}

/** Returns all that answers name, each once. */
export function offered(...answers: (Fields | undefined)[]): Offer[] {
  const found = new Map<string, Offer>();
  const offer = (kind: Offer["kind"], text: string): void => {
    if (!found.has(text)) found.set(text, { kind, text, label: lookOf(text).label });
  };
  for (const fields of answers) {
    for (const series of fields?.metrics ?? []) offer("metric", `metrics.${seriesName(series)}`);
    for (const key of fields?.params ?? []) offer("param", fieldText("params", key));
    for (const key of fields?.tags ?? []) offer("tag", fieldText("tags", key));
    for (const name of fields?.attributes ?? []) offer("attribute", name);
  }
  return [...found.values()];
}

/** Returns what has all words of a search; what begins with it comes first. */
export function matching(offers: readonly Offer[], search: string): Offer[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...offers];
  const found = offers.filter(({ text }) => {
    const low = text.toLowerCase();
    return words.every((word) => low.includes(word));
  });
  const first = words[0] ?? "";
  const begins = ({ label }: Offer): boolean => label.toLowerCase().startsWith(first);
  return [...found.filter(begins), ...found.filter((offer) => !begins(offer))];
}

/** Returns a list with the item at a place moved by so many places. */
export function moved<Item>(items: readonly Item[], at: number, by: number): Item[] {
  const item = items[at];
  if (item === undefined) return [...items];
  const rest = items.filter((_, other) => other !== at);
  const to = Math.min(Math.max(at + by, 0), rest.length);
  return [...rest.slice(0, to), item, ...rest.slice(to)];
}
