/** Puts what belongs to a page into what stands around every page: the head, and the side bar. */
import { type ReactNode, useSyncExternalStore } from "react";
import { createPortal } from "react-dom";

/** The element of the head that takes it, before who is signed in. */
export const HEAD_PART_ID = "head-part";
/** The element of the side bar that takes it, below the places. */
export const SIDE_PART_ID = "side-part";

export function HeadPart(props: { children: ReactNode }): ReactNode {
  return useElsewhere(HEAD_PART_ID, props.children);
}

export function SidePart(props: { children: ReactNode }): ReactNode {
  return useElsewhere(SIDE_PART_ID, props.children);
}

const never = (): (() => void) => () => undefined;

function useElsewhere(id: string, children: ReactNode): ReactNode {
  const place = useSyncExternalStore(never, () => document.getElementById(id));
  return place === null ? null : createPortal(children, place);
}
