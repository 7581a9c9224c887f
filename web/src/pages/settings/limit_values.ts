/** Limits as people read and write them; pure. */
import { wholeNumber } from "@/base/numbers";
import { sizeText } from "@/base/sizes";

type LimitValue = number | "unlimited";

/** Returns a limit as it is shown; of bytes in their unit. */
export function limitText(name: string, value: LimitValue): string {
  if (value === "unlimited") return value;
  return name.endsWith("bytes") ? sizeText(value) : wholeNumber(value);
}

/** Reads what was typed: digits, with blanks and underscores between them, or `unlimited`. */
export function limitFromText(text: string): LimitValue | null {
  const plain = text.trim().toLowerCase();
  if (plain === "unlimited") return plain;
  const digits = plain.replace(/[\s_]/g, "");
  if (!/^\d+$/.test(digits)) return null;
  const value = Number(digits);
  return Number.isSafeInteger(value) ? value : null;
}
