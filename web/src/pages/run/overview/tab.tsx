/** The tab Overview of a run: what it kept, what it ran in, what it was told. */
import type { ReactElement } from "react";
import { Budgets } from "@/pages/run/overview/budgets";
import { Documents } from "@/pages/run/overview/documents";
import classes from "@/pages/run/overview/overview.module.css";
import { Section } from "@/pages/run/overview/section";
import { SeriesTable } from "@/pages/run/series_table";
import type { Run } from "@/state/run";

export function OverviewTab(props: { run: Run }): ReactElement {
  const { run } = props;
  return (
    <div className={classes.sections}>
      <Section title="Series">
        <SeriesTable run={run.id} />
      </Section>
      <Section title="Budgets">
        <Budgets run={run} />
      </Section>
      <Documents run={run} />
    </div>
  );
}
