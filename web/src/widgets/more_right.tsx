/**
 * A shade at the right edge of what scrolls sideways, as long as something lies behind that edge: where a
 * browser shows no bar, as on a phone, a table that is cut between two columns looks as if it ended there.
 */
import { type ReactElement, type RefObject, useEffect, useState } from "react";
import classes from "@/widgets/more_right.module.css";

/** Less than a pixel is how the browser rounds. */
const SLACK_PX = 2;

/** The class of the element that has the scroller and the shade in it. */
export const shadedFrame = classes.frame ?? "";

/** Stands behind the scroller, in an element that is as large as it. */
export function MoreRight(props: { scroller: RefObject<HTMLElement | null> }): ReactElement | null {
  const { scroller } = props;
  /** Null: all is in sight. */
  const [place, setPlace] = useState<Place | null>(null);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const look = (): void => {
      const hidden = element.scrollWidth - element.clientWidth - element.scrollLeft;
      const next = hidden > SLACK_PX ? placeIn(element) : null;
      setPlace((last) =>
        last?.right === next?.right && last?.height === next?.height ? last : next,
      );
    };
    const observer = new ResizeObserver(look);
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [scroller]);
  return place === null ? null : <div className={classes.shade} data-more="right" style={place} />;
}

interface Place {
  /** How far from the edge it stands: the bar that scrolls down is beside it. */
  right: number;
  /** As high as what is cut: a table of three rows may stand in a box as high as the window. */
  height: number;
}

function placeIn(scroller: HTMLElement): Place {
  const { top } = scroller.getBoundingClientRect();
  const ends = [...scroller.children].map((child) => child.getBoundingClientRect().bottom - top);
  return {
    right: scroller.offsetWidth - scroller.clientWidth,
    height: Math.min(scroller.clientHeight, Math.ceil(Math.max(0, ...ends))),
  };
}
