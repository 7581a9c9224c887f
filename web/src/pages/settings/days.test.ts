import { expect, test } from "vitest";
import { daysText } from "@/pages/settings/days";

test("days are told with their noun, and none is for ever", () => {
  expect([null, 1, 30, 3650].map(daysText)).toEqual(["for ever", "1 day", "30 days", "3 650 days"]);
});
