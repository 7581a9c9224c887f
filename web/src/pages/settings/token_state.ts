/** Where a token stands; pure. */

type TokenState = "active" | "expired" | "revoked";

/** @param now - Milliseconds since 1970. */
export function tokenState(
  token: { revoked: string | null; expires: string | null },
  now: number,
): TokenState {
  if (token.revoked !== null) return "revoked";
  return token.expires !== null && Date.parse(token.expires) <= now ? "expired" : "active";
}

/** For how long a token may be made, in days; empty is for ever. */
export const LIVES = [
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "a year" },
  { value: "", label: "no end" },
] as const;

const DAY_MS = 86_400_000;

/** Returns when a token ends that is made now; `null`: never. */
export function expiresIn(days: string, now: number): string | null {
  return days === "" ? null : new Date(now + Number(days) * DAY_MS).toISOString();
}
