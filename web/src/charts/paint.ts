/** Shapes onto a canvas. */
import type { Path } from "@/charts/polylines";
import { markCorners, type Box, type Shape } from "@/charts/scene";

/** The part of a canvas that is drawn with. */
type Pen = Pick<
  CanvasRenderingContext2D,
  | "save"
  | "restore"
  | "beginPath"
  | "rect"
  | "clip"
  | "moveTo"
  | "lineTo"
  | "closePath"
  | "stroke"
  | "fill"
  | "arc"
  | "fillText"
  | "globalAlpha"
  | "strokeStyle"
  | "fillStyle"
  | "lineWidth"
  | "lineJoin"
  | "font"
  | "textAlign"
  | "textBaseline"
>;

/** Draws shapes; lines and areas stay inside a box. */
export function paintShapes(pen: Pen, shapes: readonly Shape[], box: Box, face: string): void {
  pen.save();
  pen.lineJoin = "round";
  for (const shape of shapes) {
    pen.save();
    if (isInside(shape)) {
      pen.beginPath();
      pen.rect(box.left, box.top, box.width, box.height);
      pen.clip();
    }
    paintShape(pen, shape, face);
    pen.restore();
  }
  pen.restore();
}

export function isInside(shape: Shape): boolean {
  return (
    shape.kind === "area" || shape.kind === "dots" || (shape.kind === "line" && shape.isInside)
  );
}

function paintShape(pen: Pen, shape: Shape, face: string): void {
  pen.globalAlpha = shape.kind === "text" ? 1 : shape.alpha;
  pen.strokeStyle = shape.colour;
  pen.fillStyle = shape.colour;
  switch (shape.kind) {
    case "line":
      pen.lineWidth = shape.width;
      pen.beginPath();
      trace(pen, shape.path, false);
      pen.stroke();
      return;
    case "area":
      pen.beginPath();
      trace(pen, shape.path, true);
      pen.fill();
      return;
    case "dots":
      pen.beginPath();
      for (let at = 0; at < shape.path.length; at += 2) {
        const x = shape.path[at] as number;
        const y = shape.path[at + 1] as number;
        pen.moveTo(x + shape.radius, y);
        pen.arc(x, y, shape.radius, 0, 2 * Math.PI);
      }
      pen.fill();
      return;
    case "mark": {
      const { path, isFilled } = markCorners(shape.mark, shape.x, shape.y);
      pen.lineWidth = 1.5;
      pen.beginPath();
      trace(pen, path, isFilled);
      if (isFilled) pen.fill();
      else pen.stroke();
      return;
    }
    case "text":
      pen.font = `${shape.size}px ${face}`;
      pen.textAlign =
        shape.anchor === "middle" ? "center" : shape.anchor === "end" ? "right" : "left";
      pen.textBaseline = "middle";
      pen.fillText(shape.text, shape.x, shape.y);
  }
}

function trace(pen: Pen, path: Path, isClosed: boolean): void {
  let isStart = true;
  for (let at = 0; at < path.length; at += 2) {
    const x = path[at] as number;
    if (Number.isNaN(x)) {
      if (isClosed && !isStart) pen.closePath();
      isStart = true;
      continue;
    }
    if (isStart) pen.moveTo(x, path[at + 1] as number);
    else pen.lineTo(x, path[at + 1] as number);
    isStart = false;
  }
  if (isClosed && !isStart) pen.closePath();
}
