import { expect, test } from "vitest";
import { expiresIn, tokenState } from "@/pages/settings/token_state";

const NOW = Date.parse("2026-01-10T00:00:00Z");

test("a token is revoked before it is expired, and active until it ends", () => {
  const ended = "2026-01-10T00:00:00Z";
  expect(tokenState({ revoked: ended, expires: ended }, NOW)).toBe("revoked");
  expect(tokenState({ revoked: null, expires: ended }, NOW)).toBe("expired");
  expect(tokenState({ revoked: null, expires: "2026-01-10T00:00:01Z" }, NOW)).toBe("active");
  expect(tokenState({ revoked: null, expires: null }, NOW)).toBe("active");
});

test("a life of days ends after them", () => {
  expect(expiresIn("30", NOW)).toBe("2026-02-09T00:00:00.000Z");
  expect(expiresIn("", NOW)).toBeNull();
});
