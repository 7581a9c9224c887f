import { expect, test } from "vitest";
import { dataFromCurve } from "@/charts/columns";
import { LINEAR, LOG } from "@/charts/scales";
import { lineShapes, type View } from "@/charts/scene";

const BOX = { left: 0, top: 0, width: 100, height: 100 };
const VIEW: View = { xScale: LINEAR, yScale: LINEAR, x: [0, 5], y: [0, 10], hasValues: true };

function lineOf(values: readonly (number | "NaN" | "Infinity" | "-Infinity")[]) {
  return {
    name: "loss",
    colour: "#000000",
    data: dataFromCurve({
      key: "loss",
      labels: {},
      attempt: null,
      points_total: values.length,
      points: values.map((value, step) => [step, 0, value]),
    }),
    smoothed: null,
    isFaint: false,
  };
}

/** The pieces of the lines among shapes. */
function pieces(shapes: ReturnType<typeof lineShapes>): number[] {
  return shapes.flatMap((shape) => {
    if (shape.kind !== "line") return [];
    const breaks = shape.path.filter((place) => Number.isNaN(place)).length / 2;
    return [breaks + (Number.isNaN(shape.path.at(-1)) ? 0 : 1)];
  });
}

test("a line has a gap and a mark at each kind of what is not finite", () => {
  for (const [word, mark] of [
    ["NaN", "nan"],
    ["Infinity", "plus"],
    ["-Infinity", "minus"],
  ] as const) {
    const shapes = lineShapes([lineOf([1, 2, word, 3, 4])], VIEW, BOX);
    expect(pieces(shapes)).toEqual([2]);
    expect(shapes.flatMap((shape) => (shape.kind === "mark" ? [shape.mark] : []))).toEqual([mark]);
  }
});

test("the same answer makes the same picture", () => {
  const values = [1, 5, "NaN", 0, 7, 3] as const;
  const view = { ...VIEW, yScale: LOG, y: [-1, 1] } as const;
  expect(lineShapes([lineOf(values)], view, BOX)).toEqual(lineShapes([lineOf(values)], view, BOX));
  expect(pieces(lineShapes([lineOf(values)], view, BOX))).toEqual([2]);
});
