/** A plain table that scrolls sideways where it has no room; for some dozens of rows. */
import { VisuallyHidden } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import classes from "@/widgets/rows.module.css";

export { classes as rows };

export function Rows(props: { label: string; children: ReactNode }): ReactElement {
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label={props.label}>
      <table className={classes.rows}>{props.children}</table>
    </div>
  );
}

/** The head of a column whose cells need none in sight: buttons. */
export function QuietHead(props: { label: string }): ReactElement {
  return (
    <th scope="col" className={classes.actions}>
      <VisuallyHidden>{props.label}</VisuallyHidden>
    </th>
  );
}
