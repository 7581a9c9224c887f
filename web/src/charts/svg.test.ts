import { expect, test } from "vitest";
import { momentText, fileName, quoted } from "@/charts/saving";
import { escaped, svgText } from "@/charts/svg";

const BOX = { left: 10, top: 10, width: 80, height: 80 };

test("a text of users is a text of the file", () => {
  const hostile = `</text><script>alert("1")</script>&amp;'\u0000\ud800`;
  const text = svgText(
    [
      { kind: "text", text: hostile, x: 1, y: 2, colour: "#000", size: 12, anchor: "start" },
      {
        kind: "line",
        path: [1, 2, 3, 4.567, NaN, NaN, 5, 6],
        colour: "#123456",
        width: 1,
        alpha: 1,
        isInside: true,
      },
    ],
    BOX,
    { width: 100, height: 100, background: "#fff", face: 'a "face"' },
  );
  expect(text).not.toContain("<script");
  expect(text).toContain("&lt;script&gt;");
  expect(text).not.toContain("\u0000");
  expect(text).toContain('d="M1 2L3 4.57M5 6"');
  expect(escaped("näme 😀\n")).toBe("näme 😀\n");
});

test("a field of CSV is one field, and no formula", () => {
  expect(quoted("loss")).toBe("loss");
  expect(quoted('a,"b"\n')).toBe('"a,""b""\n"');
  expect(quoted("=1+1")).toBe("'=1+1");
});

test("a moment keeps its microseconds", () => {
  expect(momentText(1_780_000_000_000_001)).toBe("2026-05-28T20:26:40.000001Z");
});

test("a file has a name that every system takes", () => {
  expect(fileName("a/b: <c>", "png")).toBe("a_b_c_.png");
  expect(fileName("", "csv")).toBe("chart.csv");
});
