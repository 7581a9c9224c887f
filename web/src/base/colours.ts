/** The colours of lines: ten that colour-blind people tell apart, Okabe and Ito's first. */

export type Scheme = "light" | "dark";

/** Okabe & Ito (2008), then three of Paul Tol's; some differ by theme to keep a contrast of 3. */
const LINES: Record<Scheme, readonly string[]> = {
  light: [
    "#0072b2",
    "#c75000",
    "#008a66",
    "#b0578d",
    "#a36a00",
    "#2b87b8",
    "#6b6b00",
    "#332288",
    "#882255",
    "#444444",
  ],
  dark: [
    "#56b4e9",
    "#e8762c",
    "#1fbf94",
    "#d98fba",
    "#e69f00",
    "#8fd0f5",
    "#f0e442",
    "#a99be8",
    "#e0708f",
    "#c8c8c8",
  ],
};

/** How many lines have a colour of their own; more repeat them. */
export const LINE_COLOURS = LINES.light.length;

/** Returns the colour of the line with a number from 0. */
export function lineColour(at: number, scheme: Scheme): string {
  const colours = LINES[scheme];
  return colours[at % colours.length] ?? "#0072b2";
}
