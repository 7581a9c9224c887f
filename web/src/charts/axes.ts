/** What an axis is called, how it is marked, and how a place on it is told. */
import { wholeNumber, shortNumber } from "@/base/numbers";
import { duration, localTime, utcTime } from "@/base/times";
import type { Axis } from "@/charts/reading";
import type { Range, Scale } from "@/charts/scales";
import { clockTicks, durationTicks, linearTicks, logTicks, type Tick } from "@/charts/ticks";

/** What every curve can be drawn over, as it is called wherever one chooses. */
export const OWN_AXES = [
  { value: "step", label: "steps" },
  { value: "run_time", label: "run time" },
  { value: "time", label: "wall time" },
] as const;

/** Returns the name of an axis, with its unit. */
export function axisName(axis: Axis): string {
  if (axis === "step") return "step";
  if (axis === "run_time") return "run time";
  if (axis === "time") return `wall time (${zoneName(new Date())})`;
  return axis;
}

/** Returns the viewer's distance from UTC at a moment. */
function zoneName(moment: Date): string {
  const minutes = -moment.getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const hours = Math.floor(Math.abs(minutes) / 60);
  const rest = Math.abs(minutes) % 60;
  const text = rest === 0 ? String(hours) : `${hours}:${String(rest).padStart(2, "0")}`;
  return `UTC${minutes < 0 ? "−" : "+"}${text}`;
}

/** Returns the marks of an axis. */
export function axisTicks(axis: Axis, scale: Scale, range: Range, countMax: number): Tick[] {
  if (scale.kind === "log") return logTicks(range, countMax);
  if (axis === "run_time") return durationTicks(range, countMax);
  if (axis === "time") {
    const offset = -new Date(range[0] * 1000).getTimezoneOffset() * 60;
    // A moment is longer than a number.
    return clockTicks(range, Math.max(2, Math.floor(countMax * 0.7)), offset);
  }
  return linearTicks(range, countMax, axis === "step");
}

/** Returns a place on an axis as it is told to people. */
export function placeText(axis: Axis, place: number): string {
  if (!Number.isFinite(place)) return "–";
  if (axis === "step") return `step ${wholeNumber(Math.round(place))}`;
  if (axis === "run_time") return duration(place);
  if (axis === "time") {
    const moment = new Date(place * 1000);
    return `${localTime(moment)} · ${utcTime(moment)}`;
  }
  return `${axis} ${shortNumber(place)}`;
}
