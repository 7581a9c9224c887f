import { describe, expect, it } from "vitest";
import { isDeep, LEVELS_MAX, nestsDeep } from "@/widgets/nesting";

describe("nestsDeep", () => {
  it.each([
    ["quotes", ">".repeat(3000)],
    ["quotes apart", "> ".repeat(51) + "q"],
    ["items", "- ".repeat(2500)],
    ["numbered items", "1. ".repeat(3000)],
    ["footnotes", "[^a]: ".repeat(51) + "q"],
    ["brackets", "[".repeat(3000)],
    ["images", "![".repeat(1000) + "a" + "](b)".repeat(1000)],
    ["marks", "*".repeat(3000) + "a" + "*".repeat(3000)],
    [
      "items, each in a line of its own",
      Array.from({ length: 60 }, (_, at) => `${"  ".repeat(at)}- a`).join("\n"),
    ],
    [
      "items that go on behind an empty line",
      Array.from({ length: 60 }, (_, at) => `${"  ".repeat(at)}* a\r\n`).join("\r\n"),
    ],
  ])("finds %s", (_, text) => {
    expect(nestsDeep(text)).toBe(true);
  });

  it.each([
    ["as many levels as are drawn", ">".repeat(LEVELS_MAX)],
    ["a long list", "- [a](b) and `c`\n  - d\n".repeat(1000)],
    ["a long quote", "> > a\n".repeat(1000)],
    ["rules", `${"-".repeat(300)}\n\n${"*".repeat(300)}\n\n${"_".repeat(300)}\n`],
    ["a program that is moved in far", "```\n" + `${" ".repeat(300)}x = [1]\n`.repeat(100) + "```"],
    ["a wide table", `|${" a |".repeat(300)}\n|${"---|".repeat(300)}\n|${" **b** |".repeat(300)}`],
    ["links", "[a](b) ".repeat(1000)],
  ])("passes %s", (_, text) => {
    expect(nestsDeep(text)).toBe(false);
  });
});

describe("isDeep", () => {
  it("counts what stands within, not what stands beside", () => {
    let tree: { children?: object[] } = {};
    for (let at = 0; at < 5000; at += 1) tree = { children: [tree] };
    expect(isDeep(tree)).toBe(true);
    expect(isDeep({ children: Array.from({ length: 5000 }, () => ({})) })).toBe(false);
  });
});
