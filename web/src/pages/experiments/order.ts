/** The order in which experiments are listed; pure. */
import type { Schemas } from "@/api/client";

export type Experiment = Schemas["ExperimentFacts"];
export type SortField = "name" | "runs" | "activity" | "created";

export interface Sort {
  field: SortField;
  isDescending: boolean;
}

const NEWEST_FIRST: Sort = { field: "created", isDescending: true };
const NAMES = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/** Reads the sort of an address; one that is none is the newest first. */
export function sortFromText(text: string | undefined): Sort {
  const isDescending = text?.startsWith("-") ?? false;
  const field = text?.replace(/^-/, "");
  switch (field) {
    case "name":
    case "runs":
    case "activity":
    case "created":
      return { field, isDescending };
    default:
      return NEWEST_FIRST;
  }
}

/** Returns what stands in the address for the order that a click on a field asks for. */
export function nextSort(now: Sort, field: SortField): string {
  // Names are read from A on, numbers and times from the largest on.
  const isDescending = now.field === field ? !now.isDescending : field !== "name";
  return `${isDescending ? "-" : ""}${field}`;
}

/** Returns experiments whose name has a text in it, in an order; ties stay the newest first. */
export function ordered(
  experiments: readonly Experiment[],
  sort: Sort,
  part: string,
): Experiment[] {
  const wanted = part.trim().toLocaleLowerCase();
  const sign = sort.isDescending ? -1 : 1;
  return experiments
    .filter(({ name }) => wanted === "" || name.toLocaleLowerCase().includes(wanted))
    .sort((one, other) => sign * compared(one, other, sort.field));
}

function compared(one: Experiment, other: Experiment, field: SortField): number {
  switch (field) {
    case "name":
      return NAMES.compare(one.name, other.name);
    case "runs":
      return one.runs - other.runs;
    case "activity":
      return difference(momentOf(one.last_activity), momentOf(other.last_activity));
    case "created":
      return difference(momentOf(one.created), momentOf(other.created));
  }
}

function momentOf(text: string | null): number {
  return text === null ? Number.NEGATIVE_INFINITY : Date.parse(text);
}

/** Two that never were active are equal: the difference of two infinities is no number. */
function difference(one: number, other: number): number {
  return one === other ? 0 : one - other;
}
