/** What charts share: the place that is pointed at, the part that is zoomed to, and which lines each draws. */
import { createContext, useContext, useState, useSyncExternalStore } from "react";
import type { Range } from "@/charts/scales";

type Listener = () => void;

/** By line; one that is not there is drawn if it is among the first. */
export type Choices = ReadonlyMap<string, boolean>;

const NONE: Choices = new Map();

/** Hover, zoom and chosen lines of charts over one axis. */
export class ChartGroup {
  #hover: number | null = null;
  #pointed: string | null = null;
  #seen: Range | null = null;
  readonly #choices = new Map<string, Choices>();
  readonly #choiceListeners = new Set<Listener>();
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

  /** The place that is pointed at, for the chart that it is pointed at in; null for all others. */
  told(chart: string): number | null {
    return this.#pointed === chart ? this.#hover : null;
  }

  /** Points at a place of the axis in one of the charts; null: at none of that chart any more. */
  pointAt(hover: number | null, chart: string): void {
    // Charts touch, and fingers never leave one: the next may be pointed at before the last one hears of it.
    if (hover === null && this.#pointed !== chart) return;
    if (hover === this.#hover && this.#pointed === chart) return;
    this.#hover = hover;
    this.#pointed = hover === null ? null : chart;
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

  /** Returns what a reader chose of the lines of a chart, by its name. */
  choicesOf(name: string): Choices {
    return this.#choices.get(name) ?? NONE;
  }

  choose(name: string, choices: Choices): void {
    this.#choices.set(name, choices);
    for (const listener of this.#choiceListeners) listener();
  }

  /** Says who hears of a new part: whoever keeps it in the address. */
  reportTo(listener: ((seen: Range | null) => void) | null): void {
    this.#onSeen = listener;
  }

  readonly onHover = (listener: Listener): (() => void) => {
    this.#hoverListeners.add(listener);
    return () => this.#hoverListeners.delete(listener);
  };

  readonly onChoices = (listener: Listener): (() => void) => {
    this.#choiceListeners.add(listener);
    return () => this.#choiceListeners.delete(listener);
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

/** Returns the place that is pointed at in a chart. */
export function useTold(group: ChartGroup, chart: string): number | null {
  return useSyncExternalStore(group.onHover, () => group.told(chart));
}

export function useChoices(group: ChartGroup, name: string): Choices {
  return useSyncExternalStore(group.onChoices, () => group.choicesOf(name));
}
