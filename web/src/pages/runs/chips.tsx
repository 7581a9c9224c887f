/** The conditions of a filter, each with a way to take it out; the server says which they are. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import classes from "@/pages/runs/view.module.css";
import { parsedQuery } from "@/state/parsing";

export function Chips(props: {
  project: string;
  filter: string;
  onFilter: (filter: string) => void;
}): ReactElement | null {
  const { project, filter, onFilter } = props;
  const parsed = useQuery({
    ...parsedQuery({ project, filter, caret: 0 }),
    enabled: filter !== "",
    placeholderData: keepPreviousData,
  });
  if (filter === "") return null;
  const parts = parsed.data?.parts ?? [];
  // Until the server has read the filter, these are the parts of the one before.
  const isBefore = parsed.isPlaceholderData;
  return (
    <>
      {parts.map((part, at) => (
        <span key={`${at} ${part}`} className={classes.chip} data-before={isBefore} title={part}>
          <code>
            <bdi>{part}</bdi>
          </code>
          <button
            type="button"
            aria-label={`Take out ${part}`}
            disabled={isBefore}
            onClick={() => {
              onFilter(parts.filter((_, other) => other !== at).join(" AND "));
            }}
          >
            ×
          </button>
        </span>
      ))}
    </>
  );
}
