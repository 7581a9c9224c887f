/** Counts as texts. */
import { wholeNumber } from "@/base/numbers";

/** Returns `3 points_per_series, 1 tags`; what is none is left out. */
export function countsText(counts: Record<string, number>): string {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${wholeNumber(count)} ${name}`)
    .join(", ");
}

/** Returns a count with its noun. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${wholeNumber(count)} ${count === 1 ? one : several}`;
}
