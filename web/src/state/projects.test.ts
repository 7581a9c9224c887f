import { expect, test } from "vitest";
import { chosenProject } from "@/state/projects";

const projects = ["ads", "default"].map((name) => ({
  name,
  created: "2026-01-01T00:00:00Z",
  role: null,
}));

test("the address wins, then the project that everyone has, then the first", () => {
  expect(chosenProject("ads", projects)).toBe("ads");
  expect(chosenProject(undefined, projects)).toBe("default");
  expect(chosenProject(undefined, projects.slice(0, 1))).toBe("ads");
  expect(chosenProject(undefined, [])).toBeNull();
});
