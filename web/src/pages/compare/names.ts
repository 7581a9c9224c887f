/** What the runs of a comparison are called, so that each can be told from the others; pure. */
import { lettersOf, shortened } from "@/pages/compare/plots/paths";

interface Run {
  id: string;
  name: string;
}

/** A name, and where others have the same the end of the run's id. */
export interface CalledRun {
  name: string;
  /** Empty where the name is its own. */
  ending: string;
}

/** Letters of an id at least: fewer look like a part of the name. */
const ENDING_MIN = 4;
/** Letters of a name at least that stand before an ending. */
const NAME_MIN = 4;

/** Returns what a run is called; one without a name by its id. */
export function nameOf(run: Run): string {
  return run.name === "" ? run.id : run.name;
}

/** Returns what each run is called beside the others. */
export function calledRuns(runs: readonly Run[]): CalledRun[] {
  return runs.map((run) => {
    const name = nameOf(run);
    const alike = runs.filter((other) => other.id !== run.id && nameOf(other) === name);
    return { name, ending: alike.length === 0 ? "" : endingOf(run, alike) };
  });
}

/** Returns the end of an id that no other one has. */
function endingOf(run: Run, others: readonly Run[]): string {
  for (let length = ENDING_MIN; length < run.id.length; length += 1) {
    const ending = run.id.slice(-length);
    if (!others.some(({ id }) => id.endsWith(ending))) return ending;
  }
  return run.id;
}

/** Letters of a long name that are kept at its end: that is where long names differ. */
const TAIL = 8;
const LONG = 20;

/** Returns a name in two pieces, of which the first is cut where there is too little room. */
export function namePieces(name: string): { head: string; tail: string } {
  if (name.length <= LONG) return { head: name, tail: "" };
  const letters = lettersOf(name);
  if (letters.length <= LONG) return { head: name, tail: "" };
  return { head: letters.slice(0, -TAIL).join(""), tail: letters.slice(-TAIL).join("") };
}

export function wholeName({ name, ending }: CalledRun): string {
  return ending === "" ? name : `${name} …${ending}`;
}

/** Returns the name in so many letters at most; the ending, which tells it from the others, stays. */
export function shortName({ name, ending }: CalledRun, lettersMax: number): string {
  if (ending === "") return shortened(name, lettersMax);
  const room = Math.max(NAME_MIN, lettersMax - lettersOf(ending).length - 2);
  return `${shortened(name, room)} …${ending}`;
}
