/** The box that finds another run and takes it into the comparison. */
import { Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { api, bodyOf } from "@/api/client";
import { ago } from "@/base/times";
import { findFilter } from "@/pages/compare/finding";
import classes from "@/pages/compare/compare.module.css";
import { calledRuns, shortName } from "@/pages/compare/names";
import { runQuery } from "@/state/run";

const SHOWN = 20;
const WAIT_MS = 200;
/** Letters of a name: two lines of the list. */
const LETTERS = 56;

export function AddRun(props: {
  project: string | null;
  /** Those that are compared already. */
  ids: readonly string[];
  onAdd: (run: string) => void;
}): ReactElement {
  const { project, ids, onAdd } = props;
  const [text, setText] = useState("");
  const [asked] = useDebouncedValue(text, WAIT_MS);
  const [isOpen, setOpen] = useState(false);
  const filter = findFilter(asked);
  const found = useQuery({
    queryKey: ["runs", project, "find", filter],
    enabled: project !== null && isOpen,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const answer = await api.POST("/v1/runs/search", {
        signal,
        body: {
          project,
          limit: SHOWN + ids.length,
          ...(filter === null ? {} : { filter }),
        },
      });
      return { runs: bodyOf(answer).runs, time: Date.now() };
    },
  });
  // The page reads them; here what it has read is looked at.
  const compared = useQueries({
    queries: ids.map((id) => ({ ...runQuery(id), enabled: false })),
  }).flatMap(({ data }) => data ?? []);
  const offered = (found.data?.runs ?? []).filter(({ id }) => !ids.includes(id)).slice(0, SHOWN);
  const called = calledRuns([...offered, ...compared]);
  const options = offered.map((run, at) => {
    const name = shortName(called[at] ?? { name: run.id, ending: "" }, LETTERS);
    const age = ago(run.created, found.data?.time ?? 0);
    // A name may be written from right to left: what stands beside it is not.
    return { value: run.id, label: `\u2068${name}\u2069 · ${age}` };
  });
  return (
    <Select
      className={classes.add}
      aria-label="Add a run"
      placeholder="Add a run: part of its name"
      searchable
      value={null}
      data={options}
      filter={({ options: all }) => all}
      searchValue={text}
      onSearchChange={setText}
      onDropdownOpen={() => {
        setOpen(true);
      }}
      nothingFoundMessage={
        found.error !== null
          ? found.error.message
          : found.isFetching
            ? "Looking …"
            : "No other run has that in its name"
      }
      onChange={(run) => {
        if (run === null) return;
        setText("");
        onAdd(run);
      }}
    />
  );
}
