/** Which media of runs stand side by side: those of one key, at one step; pure. */
import type { Schemas } from "@/api/client";

export type MediaItem = Schemas["MediaFacts"];

/** Returns the keys that any run has media of, in order. */
export function mediaKeys(media: readonly (readonly MediaItem[])[]): string[] {
  return [...new Set(media.flatMap((items) => items.map(({ key }) => key)))].sort();
}

/** Returns the steps that any run has media of a key at, rising. */
export function mediaSteps(media: readonly (readonly MediaItem[])[], key: string): number[] {
  const steps = media.flatMap((items) =>
    items.flatMap((item) => (item.key === key && item.step !== null ? [item.step] : [])),
  );
  return [...new Set(steps)].sort((one, other) => one - other);
}

/** Returns a run's items of a key at exactly a step; `null` is those without one. */
export function mediaAt(
  items: readonly MediaItem[],
  key: string,
  step: number | null,
): MediaItem[] {
  return items.filter((item) => item.key === key && item.step === step);
}
