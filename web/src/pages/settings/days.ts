/** Days of retention as people read them; pure. */
import { wholeNumber } from "@/base/numbers";

/** @param days - Null: nothing is deleted for its age. */
export function daysText(days: number | null): string {
  if (days === null) return "for ever";
  return days === 1 ? "1 day" : `${wholeNumber(days)} days`;
}
