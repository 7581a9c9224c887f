/** What the browser calls the page: in tabs, bookmarks and the way back. */
import { useEffect } from "react";

const PRODUCT = "mapi";

/** @param parts - From the most telling one on; what is not known yet is left out. */
export function useTitle(...parts: readonly (string | null | undefined)[]): void {
  const known = parts.filter((part) => part !== null && part !== undefined && part !== "");
  const title = [...known, PRODUCT].join(" · ");
  useEffect(() => {
    document.title = title;
    return () => {
      document.title = PRODUCT;
    };
  }, [title]);
}
