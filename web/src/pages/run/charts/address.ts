/** What the tab Charts keeps in the address of a run. */
import { PLAIN, type ChartSettings } from "@/charts/settings";
import { WEIGHTS } from "@/charts/smoothing";

export interface ChartsAddress {
  /** What is looked for among the keys. */
  charts?: string;
  /** What curves are drawn over; steps without it. */
  x?: string;
  logx?: true;
  logy?: true;
  smooth?: number;
  clip?: true;
  /** The label that colours tell apart; all labels without it. */
  by?: string;
  /** Keys that stand first, in their order; empty: none, though the viewer has some. */
  pins?: readonly string[];
  /** The part of the axis that is zoomed to. */
  zoom?: readonly [number, number];
  /** The key whose chart fills the window. */
  full?: string;
}

/** More pins are no pins. */
export const PINS_MAX = 50;

/** Reads the settings of the charts; what is not understood is left out. */
export function chartsAddress(search: Record<string, unknown>): ChartsAddress {
  const found: ChartsAddress = {};
  for (const name of ["charts", "x", "by", "full"] as const) {
    const text = search[name];
    // A text of digits was read as a number.
    if ((typeof text === "string" || typeof text === "number") && text !== "") {
      found[name] = String(text);
    }
  }
  if (found.x === PLAIN.axis) delete found.x;
  for (const name of ["logx", "logy", "clip"] as const)
    if (search[name] === true) found[name] = true;
  const weight = WEIGHTS.find((one) => one === search.smooth);
  if (weight !== undefined && weight > 0) found.smooth = weight;
  if (Array.isArray(search.pins)) {
    const keys = search.pins.filter((key): key is string => typeof key === "string" && key !== "");
    found.pins = [...new Set(keys)].slice(0, PINS_MAX);
  }
  const zoom: unknown = search.zoom;
  if (Array.isArray(zoom) && zoom.length === 2) {
    const [from, to] = zoom as unknown[];
    if (typeof from === "number" && typeof to === "number" && from < to) found.zoom = [from, to];
  }
  return found;
}

/** Returns how an address wants its charts drawn. */
export function settingsOf(address: ChartsAddress): ChartSettings {
  return {
    axis: address.x ?? PLAIN.axis,
    isLogX: address.logx ?? false,
    isLogY: address.logy ?? false,
    smoothing: address.smooth ?? 0,
    isClipped: address.clip ?? false,
  };
}
