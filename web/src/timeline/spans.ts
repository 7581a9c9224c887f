/**
 * The spans of a run in columns: 200 000 of them are as many numbers, not as many objects.
 *
 * Times are nanoseconds since the first span: since 1970 they have no exact number in JavaScript.
 */

/** A span as the server writes it. */
export interface RawSpan {
  stream: string;
  rank: number;
  name: string;
  start_ns: number;
  duration_ns: number;
  depth: number;
  track: number;
  step: number | null;
  fields?: unknown;
}

/** One thread or task of one stream and rank. */
interface Lane {
  stream: string;
  rank: number;
  /** From 1, in the order of their first spans; the number that a system gives a thread says nothing. */
  track: number;
  /** How many its stream and rank have. */
  trackCount: number;
  /** Spans by depth, each by its start. */
  rows: Uint32Array[];
}

export interface Spans {
  readonly count: number;
  /** Nanoseconds since 1970 of the first start, about. */
  readonly origin: number;
  /** The last end. */
  readonly length: number;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly depth: Uint16Array;
  /** Into `paths`. */
  readonly path: Uint32Array;
  /** Into `lanes`. */
  readonly lane: Uint32Array;
  /** −1: none. */
  readonly step: Float64Array;
  readonly fields: readonly unknown[];
  readonly paths: readonly string[];
  readonly lanes: readonly Lane[];
}

/** Deeper ones are drawn in the last row. */
const DEPTH_MAX = 63;

/** Returns the columns of spans. */
export function spansOf(raw: readonly RawSpan[]): Spans {
  const count = raw.length;
  let origin = Infinity;
  for (const { start_ns: start } of raw) if (start < origin) origin = start;
  if (count === 0) origin = 0;
  const start = new Float64Array(count);
  const end = new Float64Array(count);
  const depth = new Uint16Array(count);
  const path = new Uint32Array(count);
  const lane = new Uint32Array(count);
  const step = new Float64Array(count);
  const fields: unknown[] = new Array<unknown>(count);
  const paths = new Numbered();
  const lanes = new Numbered();
  const producers: Producer[] = [];
  let length = 0;
  raw.forEach((span, at) => {
    start[at] = span.start_ns - origin;
    end[at] = span.start_ns - origin + span.duration_ns;
    length = Math.max(length, end[at] ?? 0);
    depth[at] = Math.min(span.depth, DEPTH_MAX);
    path[at] = paths.number(span.name);
    const number = lanes.number(JSON.stringify([span.stream, span.rank, span.track]));
    const producer = (producers[number] ??= {
      stream: span.stream,
      rank: span.rank,
      begin: Infinity,
    });
    producer.begin = Math.min(producer.begin, span.start_ns);
    lane[at] = number;
    step[at] = span.step ?? -1;
    fields[at] = span.fields ?? null;
  });
  const order = producers
    .map((_, number) => number)
    .sort((one, other) => compareLanes(producers[one], producers[other]));
  const place = new Uint32Array(producers.length);
  order.forEach((number, to) => {
    place[number] = to;
  });
  for (let at = 0; at < count; at += 1) lane[at] = place[lane[at] ?? 0] ?? 0;
  const rows = rowsOf(count, { start, lane, depth }, producers.length);
  return {
    count,
    origin,
    length,
    start,
    end,
    depth,
    path,
    lane,
    step,
    fields,
    paths: paths.names,
    lanes: lanesOf(
      order.flatMap((number) => producers[number] ?? []),
      rows,
    ),
  };
}

interface Producer {
  stream: string;
  rank: number;
  /** Of its first span. */
  begin: number;
}

/** Returns lanes in the order of their producers, the tracks of a stream and rank numbered. */
function lanesOf(producers: readonly Producer[], rows: readonly Uint32Array[][]): Lane[] {
  const counts = new Map<string, number>();
  const place = ({ stream, rank }: Producer): string => `${stream}\n${rank}`;
  const tracks = producers.map((producer) => {
    const track = (counts.get(place(producer)) ?? 0) + 1;
    counts.set(place(producer), track);
    return track;
  });
  return producers.map((producer, at) => ({
    stream: producer.stream,
    rank: producer.rank,
    track: tracks[at] ?? 1,
    trackCount: counts.get(place(producer)) ?? 1,
    rows: rows[at] ?? [],
  }));
}

/** Texts, numbered as they come. */
class Numbered {
  readonly names: string[] = [];
  readonly #numbers = new Map<string, number>();

  number(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const number = this.names.length;
    this.#numbers.set(name, number);
    this.names.push(name);
    return number;
  }
}

function compareLanes(one: Producer | undefined, other: Producer | undefined): number {
  if (one === undefined || other === undefined) return 0;
  if (one.stream !== other.stream) return one.stream < other.stream ? -1 : 1;
  return one.rank - other.rank || one.begin - other.begin;
}

function rowsOf(
  count: number,
  columns: { start: Float64Array; lane: Uint32Array; depth: Uint16Array },
  laneCount: number,
): Uint32Array[][] {
  const { start, lane, depth } = columns;
  const found: number[][][] = Array.from({ length: laneCount }, () => []);
  for (let at = 0; at < count; at += 1) {
    const rows = found[lane[at] ?? 0];
    const deep = depth[at] ?? 0;
    if (rows === undefined) continue;
    while (rows.length <= deep) rows.push([]);
    rows[deep]?.push(at);
  }
  return found.map((rows) =>
    rows.map((row) =>
      Uint32Array.from(row).sort((one, other) => (start[one] ?? 0) - (start[other] ?? 0)),
    ),
  );
}

/** Returns what a lane is called. */
export function laneName(lane: Omit<Lane, "rows">): string {
  const stream = lane.stream === "" ? "default stream" : lane.stream;
  const rank = lane.rank === 0 ? "" : `, rank ${lane.rank}`;
  const track = lane.trackCount === 1 ? "" : `, track ${lane.track}`;
  return `${stream}${rank}${track}`;
}

/** Returns the last part of a path. */
export function shortName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Returns a moment of the axis: `0`, `350 ms`, `1 min 20 s`. */
export function momentText(ns: number): string {
  if (ns === 0) return "0";
  if (ns < 60e9) return spanTime(ns);
  const minutes = Math.floor(ns / 60e9);
  const seconds = Number(((ns - minutes * 60e9) / 1e9).toPrecision(6));
  return seconds === 0 ? `${minutes} min` : `${minutes} min ${seconds} s`;
}

/** Returns a length of time, with as many digits as mean something. */
export function spanTime(ns: number): string {
  const size = Math.abs(ns);
  const units = [
    [60e9, "min"],
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
  ] as const;
  const [unit, name] = units.find(([one]) => size >= one) ?? [1, "ns"];
  const value = ns / unit;
  return `${Number(value.toPrecision(4))} ${name}`;
}
