import { expect, test } from "vitest";
import { childProgram, curvesProgram, experimentProgram } from "@/base/programs";

test("a program is whole: it imports, begins, logs and ends", () => {
  expect(curvesProgram("llm").split("\n")).toEqual([
    "import expr_tracker as et",
    "",
    'et.init(project="llm", backends=["mapi"])',
    "for step in range(100):",
    '    et.log({"loss": 1 / (step + 1)}, step=step)',
    "et.finish()",
  ]);
});

test("what others wrote is a text within it", () => {
  const name = 'a"); import os #\n\\';
  const quoted = JSON.stringify(name);
  expect(experimentProgram("p", name)).toContain(`create(${quoted}, if_exists`);
  expect(childProgram(name, "run_1")).toContain(`Client(project=${quoted})`);
  expect(curvesProgram(name).split("\n")).toHaveLength(6);
});
