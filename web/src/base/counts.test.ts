import { describe, expect, it } from "vitest";
import { counted } from "@/base/counts";

describe("counted", () => {
  it("has the noun in the number of the count", () => {
    expect([counted(0, "run"), counted(1, "run"), counted(1234, "run")]).toEqual([
      "0 runs",
      "1 run",
      "1 234 runs",
    ]);
  });
});
