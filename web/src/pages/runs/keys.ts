/** Keys that lead through a list. */

/** Where a list stands: the row that is led by the keys (-1 without one), and rows of a screen. */
interface Standing {
  at: number;
  count: number;
  page: number;
}

/** Returns the row that a key leads to, or null where it leads nowhere. */
export function stepOf(key: string, { at, count, page }: Standing): number | null {
  const to = target(key, { at, count, page: Math.max(1, page) });
  return to === null || count === 0 ? null : Math.min(Math.max(to, 0), count - 1);
}

function target(key: string, { at, count, page }: Standing): number | null {
  switch (key) {
    case "ArrowDown":
    case "j":
      return at + 1;
    case "ArrowUp":
    case "k":
      return at < 0 ? 0 : at - 1;
    case "PageDown":
      return at + page;
    case "PageUp":
      return at - page;
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return null;
  }
}
