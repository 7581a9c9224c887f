/** Whether an element is near to what is seen of the page, and how wide it is: only then it is drawn. */
import { useEffect, useState, type RefObject } from "react";

/** So far below the edge a chart begins to load. */
const MARGIN = "300px";

interface Nearness {
  readonly isNear: boolean;
  /** In pixels; 0 where it is not known yet. */
  readonly width: number;
}

export function useNearness(element: RefObject<HTMLElement | null>): Nearness {
  const [found, setFound] = useState<Nearness>({ isNear: false, width: 0 });
  useEffect(() => {
    const host = element.current;
    if (host === null) return;
    const nearness = new IntersectionObserver(
      (entries) => {
        const isNear = entries.at(-1)?.isIntersecting ?? false;
        setFound((known) => ({ isNear, width: isNear ? host.clientWidth : known.width }));
      },
      { rootMargin: MARGIN },
    );
    const size = new ResizeObserver(() => {
      setFound((known) =>
        known.width === host.clientWidth ? known : { ...known, width: host.clientWidth },
      );
    });
    nearness.observe(host);
    size.observe(host);
    return () => {
      nearness.disconnect();
      size.disconnect();
    };
  }, [element]);
  return found;
}
