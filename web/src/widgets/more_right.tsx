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
  /** How far from the edge it stands: the bar that scrolls down is beside it. Null: all is in sight. */
  const [right, setRight] = useState<number | null>(null);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const look = (): void => {
      const hidden = element.scrollWidth - element.clientWidth - element.scrollLeft;
      setRight(hidden > SLACK_PX ? element.offsetWidth - element.clientWidth : null);
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
  return right === null ? null : (
    <div className={classes.shade} data-more="right" style={{ right }} />
  );
}
