/** What charts share: the place that is pointed at, and the part that is zoomed to. */
import { createContext, useContext, useState, useSyncExternalStore } from "react";
import type { Range } from "@/charts/scales";

type Listener = () => void;

/** Hover and zoom of charts over one axis. */
export class ChartGroup {
  #hover: number | null = null;
  #seen: Range | null = null;
  readonly #hoverListeners = new Set<Listener>();
  readonly #seenListeners = new Set<Listener>();
  #onSeen: ((seen: Range | null) => void) | null = null;

  /** The place on the axis that is pointed at. */
  get hover(): number | null {
    return this.#hover;
  }

  /** The part of the axis that is seen; null: all. */
  get seen(): Range | null {
    return this.#seen;
  }

  pointAt(hover: number | null): void {
    if (hover === this.#hover) return;
    this.#hover = hover;
    for (const listener of this.#hoverListeners) listener();
  }

  zoomTo(seen: Range | null): void {
    if (seen === this.#seen || (seen?.[0] === this.#seen?.[0] && seen?.[1] === this.#seen?.[1])) {
      return;
    }
    this.#seen = seen;
    for (const listener of this.#seenListeners) listener();
    this.#onSeen?.(seen);
  }

  /** Says who hears of a new part: whoever keeps it in the address. */
  reportTo(listener: ((seen: Range | null) => void) | null): void {
    this.#onSeen = listener;
  }

  readonly onHover = (listener: Listener): (() => void) => {
    this.#hoverListeners.add(listener);
    return () => this.#hoverListeners.delete(listener);
  };

  readonly onSeen = (listener: Listener): (() => void) => {
    this.#seenListeners.add(listener);
    return () => this.#seenListeners.delete(listener);
  };
}

const GroupContext = createContext<ChartGroup | null>(null);

/** Charts inside share one group. */
export const ChartGroupProvider = GroupContext.Provider;

/** Returns the group that a chart stands in; one outside of any has its own. */
export function useChartGroup(): ChartGroup {
  const [own] = useState(() => new ChartGroup());
  return useContext(GroupContext) ?? own;
}

export function useSeen(group: ChartGroup): Range | null {
  return useSyncExternalStore(group.onSeen, () => group.seen);
}

export function useHover(group: ChartGroup): number | null {
  return useSyncExternalStore(group.onHover, () => group.hover);
}
