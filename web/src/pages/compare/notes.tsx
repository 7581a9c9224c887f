/** What people wrote about the runs, side by side. */
import type { ReactElement } from "react";
import { RunName, useColumns } from "@/pages/compare/columns";
import classes from "@/pages/compare/compare.module.css";
import type { Run } from "@/state/run";
import { MarkdownText } from "@/widgets/markdown";

export function NotesSection(props: { facts: ReadonlyMap<string, Run> }): ReactElement {
  const { facts } = props;
  const columns = useColumns();
  const noted = columns.filter(({ run }) => (facts.get(run.id)?.note ?? "") !== "");
  const bareCount = columns.length - noted.length;
  return (
    <section className={classes.section}>
      <h2>
        Notes{" "}
        <span className={classes.said}>
          {noted.length === 0
            ? "no run has one"
            : bareCount === 0
              ? ""
              : `${String(bareCount)} without one`}
        </span>
      </h2>
      {noted.length > 0 && (
        <div className={classes.notes}>
          {noted.map((column) => (
            <article key={column.run.id} className={classes.note}>
              <h3>
                <RunName column={column} />
              </h3>
              <MarkdownText text={facts.get(column.run.id)?.note ?? ""} />
            </article>
          ))}
        </div>
      )}
    </section>
  );
}
