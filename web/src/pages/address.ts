/** What every address may hold, and how an address is read: wholly, or not at all. */
import { parseSearchWith } from "@tanstack/react-router";

export interface RootSearch {
  project?: string;
}

type Raw = Record<string, unknown>;

/**
 * Parses the part of an address behind its `?`. A number is one only where it is written as numbers
 * are: `1e5` may be a name, and would come back as another one.
 */
export const parseSearch = parseSearchWith((text): unknown => {
  const found: unknown = JSON.parse(text);
  return typeof found === "number" && String(found) !== text ? text : found;
});

/** Reads what every address may hold. */
export function rootSearch(search: Raw): RootSearch {
  const { project } = search;
  // A project may be called 2026, or true.
  if (typeof project === "number" || typeof project === "boolean")
    return { project: String(project) };
  if (project === null) return { project: "null" };
  return typeof project === "string" && project !== "" ? { project } : {};
}

/** Returns an address's search without the members that say nothing: it holds what was chosen. */
export function withoutNothing<Search extends object>(search: Search): Search {
  const kept = Object.entries(search).filter(
    ([, value]: [string, unknown]) =>
      value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(kept) as Search;
}

/** Returns what a way to another page keeps of the search of this one: the project. */
export function keepProject({ project }: { project?: string | undefined }): RootSearch {
  return project === undefined ? {} : { project };
}

/**
 * Returns a reader that leaves nothing of what it does not understand: the router lays what it returns
 * over what it has parsed, and a page would meet a number where it knows texts only.
 *
 * @param read - Reads what a page knows.
 * @param others - Members that are read elsewhere.
 */
export function exactly<Search extends object>(
  read: (search: Raw) => Search,
  others: readonly string[] = ["project"],
): (search: Raw) => Search {
  return (search) => {
    const names = Object.keys(search).filter((name) => !others.includes(name));
    const nothing = Object.fromEntries(names.map((name) => [name, undefined]));
    return { ...nothing, ...read(search) };
  };
}
