/** Which colour a line has: one that it keeps for the visit, and that its neighbours lack. */
import { LINE_COLOURS } from "@/base/colours";

/**
 * Gives each name a number of a colour. A name that has one keeps it; a new one takes the colour
 * that is rarest among those it stands beside.
 *
 * @param names - What stands side by side in one chart.
 * @param memory - What was given so far; new ones are added.
 */
export function giveColours(names: readonly string[], memory: Map<string, number>): void {
  const uses = new Array<number>(LINE_COLOURS).fill(0);
  const fresh = new Set<string>();
  for (const name of new Set(names)) {
    const known = memory.get(name);
    if (known === undefined) fresh.add(name);
    else uses[known] = (uses[known] ?? 0) + 1;
  }
  for (const name of fresh) {
    const rarest = uses.indexOf(Math.min(...uses));
    uses[rarest] = (uses[rarest] ?? 0) + 1;
    memory.set(name, rarest);
  }
}

const visit = new Map<string, Map<string, number>>();

/**
 * Returns the colours of names side by side, the same during a visit.
 *
 * @param kind - What the names are: `run`, or the label that lines are told apart by.
 */
export function visitColours(kind: string, names: readonly string[]): (name: string) => number {
  let memory = visit.get(kind);
  if (memory === undefined) {
    memory = new Map();
    visit.set(kind, memory);
  }
  giveColours(names, memory);
  const known = memory;
  return (name) => known.get(name) ?? 0;
}
