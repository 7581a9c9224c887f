import { describe, expect, it } from "vitest";
import { fateOfRuns } from "@/pages/experiments/words";

describe("fateOfRuns", () => {
  it("says that runs stay and views go", () => {
    expect(fateOfRuns(1, 0)).toBe("Its run stays in the project, in no experiment.");
    expect(fateOfRuns(12, 1)).toBe(
      "Its 12 runs stay in the project, in no experiment. Its 1 saved view is deleted with it.",
    );
    expect(fateOfRuns(0, 3)).toBe("It has no runs. Its 3 saved views are deleted with it.");
  });

  it("promises nothing about views while they are not known", () => {
    expect(fateOfRuns(0, undefined)).toContain("saved views are deleted");
  });
});
