/** Boxes that scroll sideways as one: the heads of the runs stay above their columns. */
import { createContext, useContext } from "react";

export class ScrollGroup {
  readonly #boxes = new Set<HTMLElement>();
  #left = 0;

  /** Takes a box in, as a `ref` does, and returns what takes it out again. */
  readonly join = (box: HTMLElement | null): (() => void) => {
    if (box === null) return () => undefined;
    const follow = (): void => {
      // What the group itself has moved says so too.
      if (box.scrollLeft === this.#left) return;
      this.#left = box.scrollLeft;
      for (const other of this.#boxes) {
        if (other !== box) other.scrollLeft = this.#left;
      }
    };
    this.#boxes.add(box);
    box.scrollLeft = this.#left;
    box.addEventListener("scroll", follow, { passive: true });
    return () => {
      this.#boxes.delete(box);
      box.removeEventListener("scroll", follow);
    };
  };
}

const Group = createContext<ScrollGroup | null>(null);
export const ScrollGroupProvider = Group.Provider;

export function useScrollGroup(): ScrollGroup | null {
  return useContext(Group);
}
