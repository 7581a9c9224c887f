/** Which attempt the charts read: each step's newest one, or a single one. */
import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { Fact } from "@/pages/run/header/fact";
import classes from "@/pages/run/header/header.module.css";
import { attemptsQuery, type Run } from "@/state/run";

const route = getRouteApi("/runs/$run");

export function AttemptChoice(props: { run: Run }): ReactElement | null {
  const { attempt } = route.useSearch();
  const navigate = route.useNavigate();
  const attempts = useQuery({ ...attemptsQuery(props.run.id), enabled: props.run.attempts > 1 });
  const numbers = new Set(attempts.data?.map(({ number }) => number));
  // The first attempt of a run is seldom registered; it is there all the same.
  if (props.run.attempts > 1) numbers.add(1);
  if (attempt !== undefined) numbers.add(attempt);
  if (numbers.size < 2 && attempt === undefined) return null;
  return (
    <Fact name="Attempt">
      <Select
        aria-label="Attempt"
        className={classes.attempts}
        allowDeselect={false}
        value={attempt === undefined ? "" : String(attempt)}
        data={[
          { value: "", label: "newest each" },
          ...[...numbers]
            .sort((one, other) => one - other)
            .map((number) => ({ value: String(number), label: `only ${number}` })),
        ]}
        onChange={(chosen) => {
          const number = chosen === null || chosen === "" ? undefined : Number(chosen);
          void navigate({ search: (previous) => ({ ...previous, attempt: number }) });
        }}
      />
    </Fact>
  );
}
