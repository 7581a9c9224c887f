/** What stands in one cell of the table. */
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { duration } from "@/base/times";
import type { ColumnLook } from "@/pages/runs/columns";
import type { RunRow } from "@/pages/runs/merging";
import { SparkLine } from "@/pages/runs/spark_line";
import classes from "@/pages/runs/table.module.css";
import { type CellValue, secondsOf, shown, valueOf } from "@/pages/runs/values";

import { useNow } from "@/widgets/now";
import { StatusMark } from "@/widgets/status";

interface CellProps {
  run: RunRow;
  look: ColumnLook;
  /** The place of its value among those that were asked for. */
  at: number | undefined;
  project: string;
  isNarrow: boolean;
}

export function Cell(props: CellProps): ReactElement {
  const { run, look, at, project, isNarrow } = props;
  if (look.text === "name") return <NameCell run={run} project={project} />;
  if (look.kind === "status") {
    return (
      <span role="gridcell" className={classes.cell}>
        <StatusMark status={run.status} isShort={isNarrow} />
      </span>
    );
  }
  const value = valueOf(run, look, at);
  if (look.kind === "duration") return <DurationCell run={run} told={value} />;
  const { text, title, isNonfinite, isMissing } = shown(value, look);
  return (
    <span
      role="gridcell"
      className={look.isRight ? `${classes.cell} ${classes.number}` : classes.cell}
      title={title === text ? undefined : title}
    >
      {look.hasSpark && look.series !== null && value !== null && (
        <SparkLine run={run.id} series={look.series} isRunning={run.status === "running"} />
      )}
      <span className={textClass(isMissing, isNonfinite)}>
        <bdi>{text}</bdi>
      </span>
    </span>
  );
}

function textClass(isMissing: boolean, isNonfinite: boolean): string {
  const rest = isMissing ? classes.dim : isNonfinite ? classes.nonfinite : "";
  return `${classes.text} ${rest}`;
}

function NameCell(props: { run: RunRow; project: string }): ReactElement {
  const { run, project } = props;
  const isNamed = run.name.trim() !== "";
  return (
    <span role="gridcell" className={`${classes.cell} ${classes.name}`}>
      <Link
        to="/runs/$run"
        params={{ run: run.id }}
        search={{ project }}
        className={isNamed ? classes.link : `${classes.link} ${classes.dim}`}
        title={isNamed ? run.name : run.id}
        tabIndex={-1}
        preload={false}
      >
        <bdi>{isNamed ? run.name : `no name, ${run.id.slice(0, 12)}…`}</bdi>
      </Link>
    </span>
  );
}

function DurationCell(props: { run: RunRow; told: CellValue }): ReactElement {
  const { run, told } = props;
  const isRunning = run.status === "running" && run.finished === null;
  return (
    <span role="gridcell" className={`${classes.cell} ${classes.number}`}>
      {isRunning ? <Ticking run={run} told={told} /> : duration(secondsOf(run, told, 0))}
    </span>
  );
}

function Ticking(props: { run: RunRow; told: CellValue }): ReactElement {
  return <>{duration(whole(secondsOf(props.run, props.told, useNow(1_000))))}</>;
}

/** A clock that counts tenths of seconds draws the eye. */
function whole(seconds: number | null): number | null {
  return seconds === null ? null : Math.floor(seconds);
}
