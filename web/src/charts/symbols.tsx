/** The symbols of the buttons of a chart. */
import type { ReactElement } from "react";

function symbol(path: string): ReactElement {
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path
        d={path}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}

export const symbols = {
  full: symbol("M6 2H2v4M10 2h4v4M6 14H2v-4M10 14h4v-4"),
  more: symbol("M8 3.5v.01M8 8v.01M8 12.5v.01"),
  all: symbol("M2 8h12M4.5 5.5 2 8l2.5 2.5M11.5 5.5 14 8l-2.5 2.5"),
  pin: symbol("M8 10v4.5M4 10h8L10.5 7.5v-4h1V2h-7v1.5h1v4z"),
  forward: symbol("M13 8H3M7 4 3 8l4 4"),
  back: symbol("M3 8h10M9 4l4 4-4 4"),
} as const;
