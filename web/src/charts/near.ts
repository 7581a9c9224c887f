/** Whether an element is near to what is seen of the page: only then it is worth drawing. */
import { useEffect, useState, type RefObject } from "react";

/** So far below the edge a chart begins to load. */
const MARGIN = "300px";

export function useIsNear(element: RefObject<HTMLElement | null>): boolean {
  const [isNear, setIsNear] = useState(false);
  useEffect(() => {
    const host = element.current;
    if (host === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        setIsNear(entries.at(-1)?.isIntersecting ?? false);
      },
      { rootMargin: MARGIN },
    );
    observer.observe(host);
    return () => {
      observer.disconnect();
    };
  }, [element]);
  return isNear;
}
