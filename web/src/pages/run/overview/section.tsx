/** A part of the overview under its title. */
import type { ReactElement, ReactNode } from "react";
import classes from "@/pages/run/overview/overview.module.css";

export function Section(props: {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
}): ReactElement {
  return (
    <section aria-label={props.title}>
      <div className={classes.title}>
        <h2>{props.title}</h2>
        {props.aside}
      </div>
      {props.children}
    </section>
  );
}
