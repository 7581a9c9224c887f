/** Which runs are chosen; a few of them stand in the address. */
import { useCallback, useMemo, useState } from "react";
import { CHOSEN_IN_ADDRESS_MAX, type RunsChange, type RunsSearch } from "@/pages/runs/address";

interface Choosing {
  chosen: ReadonlySet<string>;
  choose: (ids: readonly string[], isChosen: boolean) => void;
}

/** Returns the chosen runs that a table does not have: another filter shows others. */
export function unseenOf(
  chosen: ReadonlySet<string>,
  rows: readonly { id: string }[],
): readonly string[] {
  const seen = new Set(rows.map(({ id }) => id));
  return [...chosen].filter((id) => !seen.has(id));
}

export function useChosen(search: RunsSearch, onSearch: (change: RunsChange) => void): Choosing {
  // More than an address has room for are remembered by the page alone.
  const [many, setMany] = useState<ReadonlySet<string> | null>(null);
  const few = search.chosen;
  const chosen = useMemo(() => many ?? new Set(few ?? []), [many, few]);
  const choose = useCallback(
    (ids: readonly string[], isChosen: boolean): void => {
      const next = new Set(chosen);
      for (const id of ids) {
        if (isChosen) next.add(id);
        else next.delete(id);
      }
      const isFew = next.size <= CHOSEN_IN_ADDRESS_MAX;
      setMany(isFew ? null : next);
      onSearch({ chosen: isFew && next.size > 0 ? [...next] : undefined });
    },
    [chosen, onSearch],
  );
  return { chosen, choose };
}
