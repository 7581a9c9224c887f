import { expect, test } from "vitest";
import { settingsSearch } from "@/pages/settings/address";

test("an address names a part of the settings; what is none is the first", () => {
  expect(settingsSearch({ tab: "audit", revoked: true })).toEqual({ tab: "audit", revoked: true });
  expect(settingsSearch({ tab: "tokens" })).toEqual({});
  expect(settingsSearch({ tab: "passwords", revoked: "yes" })).toEqual({});
});
