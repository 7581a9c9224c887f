/** Limits as people read and write them; pure. */
import { wholeNumber } from "@/base/numbers";
import { exactSizeText, sizeFromText, sizeText } from "@/base/sizes";

type LimitValue = number | "unlimited";

function isSize(name: string): boolean {
  return name.endsWith("bytes");
}

/** Returns a limit as it is shown; of bytes in their unit. */
export function limitText(name: string, value: LimitValue): string {
  if (value === "unlimited") return value;
  return isSize(name) ? sizeText(value) : wholeNumber(value);
}

/** Returns a limit as it is changed: what is read back is the same, to the byte. */
export function limitInput(name: string, value: LimitValue): string {
  if (value === "unlimited") return value;
  return isSize(name) ? exactSizeText(value) : String(value);
}

/** Reads what was typed: a size, or digits with blanks and underscores between them, or `unlimited`. */
export function limitFromText(name: string, text: string): LimitValue | null {
  const plain = text.trim().toLowerCase();
  if (plain === "unlimited") return plain;
  if (isSize(name)) return sizeFromText(plain);
  const digits = plain.replace(/[\s_]/g, "");
  if (!/^\d+$/.test(digits)) return null;
  const value = Number(digits);
  return Number.isSafeInteger(value) ? value : null;
}
