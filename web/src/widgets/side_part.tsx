/** Puts what belongs to a page into the side bar, below the places. */
import { type ReactNode, useSyncExternalStore } from "react";
import { createPortal } from "react-dom";

/** The element of the side bar that takes it. */
export const SIDE_PART_ID = "side-part";

const never = (): (() => void) => () => undefined;

export function SidePart(props: { children: ReactNode }): ReactNode {
  const place = useSyncExternalStore(never, () => document.getElementById(SIDE_PART_ID));
  return place === null ? null : createPortal(props.children, place);
}
