/** Whether an element has been near to what is seen of the page: what it shows is asked for then. */
import { type RefObject, useEffect, useState } from "react";

/** So far beside the edge it counts as seen. */
const MARGIN = "300px";

export function useSeen(element: RefObject<HTMLElement | null>): boolean {
  const [isSeen, setIsSeen] = useState(false);
  useEffect(() => {
    const host = element.current;
    if (host === null || isSeen) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setIsSeen(true);
      },
      { rootMargin: MARGIN },
    );
    observer.observe(host);
    return () => {
      observer.disconnect();
    };
  }, [element, isSeen]);
  return isSeen;
}
