/** Which lines of a chart are drawn: the first ones, until a reader chooses. */
import { useCallback, useMemo } from "react";
import type { LineSource } from "@/charts/following";
import { useChoices, type ChartGroup } from "@/charts/group";

/** So many lines can be told apart, and are asked for without a click. */
const DRAWN_MAX = 20;

/**
 * Returns which lines are drawn, and how to choose others.
 *
 * Choices belong to the group: a chart that is scrolled away, or fills the window, keeps them.
 */
export function useShown(lines: readonly LineSource[], of: { group: ChartGroup; name: string }) {
  const { group, name } = of;
  const choices = useChoices(group, name);
  const shown = useMemo(
    () => lines.filter(({ id }, at) => choices.get(id) ?? at < DRAWN_MAX),
    [lines, choices],
  );
  const ids = useMemo(() => new Set(shown.map(({ id }) => id)), [shown]);
  const isShown = useCallback((id: string) => ids.has(id), [ids]);
  const toggle = useCallback(
    (id: string) => {
      group.choose(name, new Map(choices).set(id, !ids.has(id)));
    },
    [group, name, choices, ids],
  );
  const only = useCallback(
    (id: string) => {
      const isAlone = ids.size === 1 && ids.has(id);
      const chosen = isAlone ? [] : lines.map((line) => [line.id, line.id === id] as const);
      group.choose(name, new Map(chosen));
    },
    [group, name, ids, lines],
  );
  return { shown, isShown, toggle, only };
}
