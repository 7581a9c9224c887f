/** The head of a page: what it is, and what can be done with the whole of it. */
import type { ReactElement, ReactNode } from "react";
import classes from "@/widgets/page_head.module.css";

export function PageHead(props: {
  title: ReactNode;
  /** What is said of it in short. */
  said?: ReactNode;
  /** Buttons. */
  children?: ReactNode;
}): ReactElement {
  return (
    <header className={classes.head}>
      <h1 className={classes.title}>{props.title}</h1>
      {props.said !== undefined && <span className={classes.said}>{props.said}</span>}
      <span className={classes.rest} />
      <div className={classes.actions}>{props.children}</div>
    </header>
  );
}
