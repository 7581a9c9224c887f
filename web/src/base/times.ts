/** Moments and durations as people read them; the viewer's zone, with UTC beside it. */

/** Returns a moment in the viewer's zone, to the second. */
export function localTime(moment: string | Date): string {
  const at = new Date(moment);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** Returns the time of day of a moment in the viewer's zone, to the millisecond. */
export function clockTime(moment: string | Date): string {
  const at = new Date(moment);
  return `${localTime(at).slice(11)}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

/** Returns a moment in UTC, to the second. */
export function utcTime(moment: string | Date): string {
  return `${new Date(moment).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** Returns how long something took or takes, in its two largest units. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 0) return `−${duration(-seconds)}`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${(Math.floor(seconds * 10) / 10).toString()} s`;
  const whole = Math.floor(seconds);
  const units = [
    [86_400, "d"],
    [3_600, "h"],
    [60, "min"],
    [1, "s"],
  ] as const;
  const at = units.findIndex(([size]) => whole >= size);
  const [size, name] = units[at] ?? units[3];
  const next = units[at + 1];
  const count = `${Math.floor(whole / size)} ${name}`;
  if (next === undefined) return count;
  const rest = Math.floor((whole % size) / next[0]);
  return rest === 0 ? count : `${count} ${rest} ${next[1]}`;
}

/** Returns how long ago a moment was, in its largest unit. */
export function ago(moment: string | Date, now: number): string {
  const seconds = Math.max(0, (now - new Date(moment).getTime()) / 1000);
  if (seconds < 5) return "now";
  const text = duration(Math.floor(seconds)).split(" ").slice(0, 2).join(" ");
  return `${text} ago`;
}
