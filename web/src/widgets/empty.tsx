/** Nothing is there yet: what would be here, and what to do so that it is; at the edge where it would be. */
import { Code } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { Copy } from "@/widgets/copy";
import classes from "@/widgets/empty.module.css";

export function Empty(props: {
  title: string;
  /** Whole: it works as it is pasted. */
  code?: string;
  children?: ReactNode;
}): ReactElement {
  return (
    <div className={classes.empty}>
      <p className={classes.title}>{props.title}</p>
      {props.children !== undefined && <p>{props.children}</p>}
      {props.code !== undefined && (
        <div className={classes.code}>
          <Code block tabIndex={0} className={classes.lines}>
            {props.code}
          </Code>
          <span className={classes.copy}>
            <Copy text={props.code} label="Copy" />
          </span>
        </div>
      )}
    </div>
  );
}
