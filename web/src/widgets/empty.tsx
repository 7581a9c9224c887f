/** Nothing is there yet: what would be here, and what to do so that it is. */
import { Code } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { Copy } from "@/widgets/copy";
import classes from "@/widgets/empty.module.css";

export function Empty(props: { title: string; code?: string; children?: ReactNode }): ReactElement {
  return (
    <div className={classes.empty}>
      <p className={classes.title}>{props.title}</p>
      {props.children !== undefined && <p>{props.children}</p>}
      {props.code !== undefined && (
        <div className={classes.code}>
          <Code block tabIndex={0}>
            {props.code}
          </Code>
          <Copy text={props.code} label="Copy" />
        </div>
      )}
    </div>
  );
}
