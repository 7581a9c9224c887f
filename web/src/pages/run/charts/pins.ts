/** The charts that a viewer pinned last in a project: they stand first in the next run too. */

function storageKey(project: string): string {
  return `mapi pins ${project}`;
}

export function storedPins(project: string): string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(storageKey(project)) ?? "[]");
    return Array.isArray(found)
      ? found.filter((key): key is string => typeof key === "string")
      : [];
  } catch {
    // Kept by another version, or the browser keeps nothing: then there are none.
    return [];
  }
}

export function storePins(project: string, pins: readonly string[]): void {
  try {
    localStorage.setItem(storageKey(project), JSON.stringify(pins));
  } catch {
    // The browser keeps nothing; the address still has them.
  }
}
