/** How wide the columns of the table are; pure. */
import type { CSSProperties } from "react";
import type { ColumnLook } from "@/pages/runs/columns";

const CHECK_PX = 36;
const NAME_NARROW_PX = 176;
const STATUS_NARROW_PX = 36;

/** Returns how a column looks on a phone: a status is its mark alone. */
export function narrowLook(look: ColumnLook): ColumnLook {
  if (look.kind === "status") return { ...look, label: "", width: STATUS_NARROW_PX };
  return look.text === "name" ? { ...look, width: NAME_NARROW_PX } : look;
}

/** Returns the tracks of the rows' grid; the name takes what is left of a wide window. */
export function widths(looks: readonly ColumnLook[]): CSSProperties {
  const columns = looks.map(({ text, width }) =>
    text === "name" ? `minmax(${width}px, 1fr)` : `${width}px`,
  );
  const all = looks.reduce((sum, { width }) => sum + width, CHECK_PX);
  return {
    "--columns": [`${CHECK_PX}px`, ...columns].join(" "),
    "--width": `${all}px`,
  } as CSSProperties;
}
