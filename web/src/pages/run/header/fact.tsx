/** A named fact in the header. */
import type { ReactElement, ReactNode } from "react";
import classes from "@/pages/run/header/header.module.css";

export function Fact(props: { name: string; children: ReactNode }): ReactElement {
  return (
    <div className={classes.fact}>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}
