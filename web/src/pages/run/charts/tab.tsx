/** The tab Charts of a run. */
import type { ReactElement } from "react";
import { SeriesTable } from "@/pages/run/series_table";
import type { Run } from "@/state/run";

export function ChartsTab(props: { run: Run }): ReactElement {
  return <SeriesTable run={props.run.id} />;
}
