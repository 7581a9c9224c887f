/** Where an axis is marked, and what stands there: round numbers with the digits that differ. */
import { duration } from "@/base/times";
import type { Range } from "@/charts/scales";

export interface Tick {
  /** Its place on the scale: on a logarithmic one the exponent of ten. */
  readonly at: number;
  /** Empty: a line without a number. */
  readonly text: string;
}

const SUFFIXES = ["", "k", "M", "G", "T", "P"] as const;
/** More decimals than a float has digits are noise. */
const DECIMALS_MAX = 12;

/** Returns the smallest of 1, 2, 5 times a power of ten that is not below a value. */
export function roundStep(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(atLeast));
  const found = [1, 2, 5, 10].find((factor) => factor * power >= atLeast * (1 - 1e-9)) ?? 10;
  return found * power;
}

/** Returns marks of round numbers, at most so many. */
export function linearTicks(range: Range, countMax: number, isWhole = false): Tick[] {
  const [low, high] = range;
  const width = high - low;
  if (!(width > 0) || !Number.isFinite(width))
    return [{ at: low, text: formatTicks([low], 0)[0] ?? "" }];
  const least = width / Math.max(1, countMax);
  const step = isWhole ? Math.max(1, roundStep(least)) : roundStep(least);
  const places = multiples(range, step);
  const texts = formatTicks(places, step);
  return places.map((at, index) => ({ at, text: texts[index] ?? "" }));
}

function multiples([low, high]: Range, step: number): number[] {
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const found: number[] = [];
  for (let at = first; at <= last && found.length < 1_000; at++) {
    // The product of two floats; fixed to the digits that the step has.
    found.push(Number((at * step).toPrecision(15)) + 0);
  }
  return found;
}

/**
 * Returns numbers that differ as texts that differ: as many decimals as their distance asks for,
 * one engineering suffix for all.
 *
 * @param step - Their distance; 0 for a number alone.
 */
export function formatTicks(values: readonly number[], step: number): string[] {
  const size = Math.max(0, ...values.map(Math.abs));
  if (size === 0) return values.map(() => "0");
  const finest = step === 0 ? size / 1_000 : step;
  const order =
    size < 10_000 ? 0 : Math.min(SUFFIXES.length - 1, Math.floor(Math.log10(size) / 3 + 1e-9));
  const scale = 10 ** (3 * order);
  const decimals = Math.max(0, -Math.floor(Math.log10(finest / scale) + 1e-9));
  if (decimals > 6 || size / scale >= 100_000) {
    const digits = Math.min(DECIMALS_MAX, Math.max(0, order10(size) - order10(finest)));
    return values.map((value) =>
      value === 0 ? "0" : minus(value.toExponential(digits).replace("e+", "e")),
    );
  }
  const suffix = SUFFIXES[order] ?? "";
  return values.map((value) =>
    value === 0 ? "0" : minus((value / scale).toFixed(decimals)) + suffix,
  );
}

function order10(value: number): number {
  return Math.floor(Math.log10(value) + 1e-9);
}

function minus(text: string): string {
  return text.startsWith("-") ? `−${text.slice(1)}` : text;
}

/** Returns marks of a logarithmic scale: powers of ten, or round numbers where it spans few. */
export function logTicks(range: Range, countMax: number): Tick[] {
  const [low, high] = range;
  const powers: number[] = [];
  const every = Math.max(1, Math.ceil((high - low) / Math.max(1, countMax)));
  for (let at = Math.ceil(low / every - 1e-9) * every; at <= high + 1e-9; at += every)
    powers.push(at);
  if (powers.length >= 3 || every > 1) {
    return powers.map((at) => ({ at, text: powerText(at) }));
  }
  const inside = linearTicks([10 ** low, 10 ** high], countMax).filter(({ at }) => at > 0);
  const decades = [1, 2, 5].flatMap((factor) =>
    range10(low, high).map((power) => power + Math.log10(factor)),
  );
  const round = decades.filter((at) => at >= low - 1e-9 && at <= high + 1e-9).sort((a, b) => a - b);
  if (round.length >= 3) {
    return round.map((at) => ({ at, text: formatTicks([10 ** at], 0).map(short)[0] ?? "" }));
  }
  return inside.map(({ at, text }) => ({ at: Math.log10(at), text }));
}

function range10(low: number, high: number): number[] {
  const found: number[] = [];
  for (let at = Math.floor(low); at <= high; at++) found.push(at);
  return found;
}

function powerText(power: number): string {
  return power >= -3 && power <= 5
    ? short(formatTicks([10 ** power], 10 ** power)[0] ?? "")
    : `1e${power}`;
}

/** A number alone needs no zeros behind it. */
function short(text: string): string {
  return text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
}

const SECONDS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
  172_800, 604_800, 1_209_600, 2_592_000, 7_776_000, 31_536_000,
] as const;

function secondsStep(atLeast: number): number {
  if (atLeast < 1) return roundStep(atLeast);
  return (
    SECONDS.find((step) => step >= atLeast * (1 - 1e-9)) ??
    roundStep(atLeast / 31_536_000) * 31_536_000
  );
}

/** Returns marks of a duration in seconds. */
export function durationTicks(range: Range, countMax: number): Tick[] {
  const step = secondsStep((range[1] - range[0]) / Math.max(1, countMax));
  if (step < 1) {
    const places = multiples(range, step);
    const texts = formatTicks(places, step);
    return places.map((at, index) => ({ at, text: `${texts[index] ?? ""} s` }));
  }
  return multiples(range, step).map((at) => ({ at, text: at === 0 ? "0" : duration(at) }));
}

/**
 * Returns marks of wall time; the day stands where it changes.
 *
 * @param range - Seconds since 1970.
 * @param offset - How many seconds the viewer's clock is ahead of UTC.
 */
export function clockTicks(range: Range, countMax: number, offset: number): Tick[] {
  const step = secondsStep((range[1] - range[0]) / Math.max(1, countMax));
  const local: Range = [range[0] + offset, range[1] + offset];
  let day = "";
  return multiples(local, step).map((at) => {
    const text = new Date(at * 1000).toISOString();
    const isNewDay = text.slice(5, 10) !== day;
    day = text.slice(5, 10);
    const digits = step < 1 ? 23 : step < 60 ? 19 : 16;
    const time = text.slice(step < 1 && !isNewDay ? 14 : 11, digits);
    return { at: at - offset, text: step >= 86_400 ? day : isNewDay ? `${day} ${time}` : time };
  });
}

const UNITS: Readonly<Record<string, string>> = {
  ns: "ns",
  us: "µs",
  ms: "ms",
  s: "s",
  sec: "s",
  seconds: "s",
  minutes: "min",
  hours: "h",
  bytes: "B",
  kb: "kB",
  mb: "MB",
  gb: "GB",
  mib: "MiB",
  gib: "GiB",
  percent: "%",
  pct: "%",
  celsius: "°C",
  watts: "W",
  mhz: "MHz",
  joules: "J",
};

/** Returns the unit that a key ends with, as ours and many others do: `time_ms` is in ms. */
export function unitOf(key: string): string {
  return key.includes("_") ? (UNITS[key.slice(key.lastIndexOf("_") + 1)] ?? "") : "";
}
