/** How charts are to be drawn; what a reader chooses for all of them. */
import type { Axis } from "@/charts/reading";

export interface ChartSettings {
  readonly axis: Axis;
  readonly isLogX: boolean;
  readonly isLogY: boolean;
  /** What the average keeps of the past at each point; 0: no average. */
  readonly smoothing: number;
  /** Whether the view leaves out outliers; it says how many. */
  readonly isClipped: boolean;
}

export const PLAIN: ChartSettings = {
  axis: "step",
  isLogX: false,
  isLogY: false,
  smoothing: 0,
  isClipped: false,
};
