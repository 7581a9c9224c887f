/** How much a run may keep, how much of it it has used, and what had no room. */
import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useRef } from "react";
import type { Schemas } from "@/api/client";
import { wholeNumber } from "@/base/numbers";
import { sizeText } from "@/base/sizes";
import classes from "@/pages/run/overview/overview.module.css";
import { every } from "@/state/queries";
import { budgetsQuery, isLive, type Run } from "@/state/run";
import { Answer } from "@/widgets/answer";
import { MoreRight, shadedFrame } from "@/widgets/more_right";
import { ShareBar, shareOf } from "@/widgets/share_bar";

type Use = Schemas["BudgetUse"];

/** Points come many times a second: of a run that goes on the figures are read now and then. */
const LIVE_MS = 10_000;

export function Budgets(props: { run: Run }): ReactElement {
  const { run } = props;
  const budgets = useQuery({
    ...budgetsQuery(run.id),
    refetchInterval: every(LIVE_MS, isLive(run)),
  });
  return (
    <Answer found={budgets} waiting={<Skeleton height={320} />}>
      {(known) => <BudgetTable budgets={known} />}
    </Answer>
  );
}

function BudgetTable(props: { budgets: Record<string, Use> }): ReactElement {
  const scroller = useRef<HTMLDivElement>(null);
  return (
    <div className={shadedFrame}>
      <div
        ref={scroller}
        className={classes.budgets}
        tabIndex={0}
        role="group"
        aria-label="Budgets"
      >
        <table>
          <thead>
            <tr>
              <th>Budget</th>
              <th className={classes.number}>Used</th>
              <th className={classes.number}>Of</th>
              <th>Share used</th>
              <th className={classes.number}>Dropped</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(props.budgets).map(([name, use]) => (
              <BudgetRow key={name} name={name} use={use} />
            ))}
          </tbody>
        </table>
      </div>
      <MoreRight scroller={scroller} />
    </div>
  );
}

function BudgetRow(props: { name: string; use: Use }): ReactElement {
  const { name, use } = props;
  const text = name.endsWith("_bytes") ? sizeText : wholeNumber;
  const { used, limit } = use;
  const dropped = use.dropped ?? 0;
  return (
    <tr>
      <td>{name.replaceAll("_", " ")}</td>
      <td className={classes.number}>{used === null ? "–" : text(used)}</td>
      <td className={classes.number}>{limit === "unlimited" ? "no limit" : text(limit)}</td>
      <td className={classes.bar}>
        <ShareBar share={shareOf(used, limit)} />
      </td>
      <td className={classes.number} data-bad={dropped > 0}>
        {dropped === 0 ? "–" : wholeNumber(dropped)}
      </td>
    </tr>
  );
}
