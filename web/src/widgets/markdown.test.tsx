import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { MarkdownText } from "@/widgets/markdown";

/** What is drawn of a text, without its elements. */
function drawn(text: string): { elements: string; words: string } {
  const elements = renderToStaticMarkup(<MarkdownText text={text} />);
  const words = elements.replaceAll(/<[^>]*>/g, "").replaceAll("&gt;", ">");
  return { elements, words };
}

describe("MarkdownText", () => {
  it.each([
    [">".repeat(3000) + " q"],
    ["- ".repeat(2500) + "q"],
    ["1. ".repeat(3000) + "q"],
    ["[".repeat(3000) + "q"],
    ["![".repeat(3000) + "q"],
    ["[q]" + "(".repeat(3000)],
    ["*a ".repeat(300) + "q" + " b*".repeat(300)],
    ["~~a ".repeat(300) + "q" + " b~~".repeat(300)],
  ])("shows what nests too deep as it was written: %.8s…", (text) => {
    expect(drawn(text).words).toBe(text);
  });

  it("draws what nests as deep as people nest", () => {
    const { elements } = drawn("> - **a**\n>   1. *b*\n\n" + "- ".repeat(20) + "c");
    expect(elements).toContain("<strong>a</strong>");
    expect(elements).toContain("<em>b</em>");
    expect(elements.split("<ul").length - 1).toBe(21);
  });
});
