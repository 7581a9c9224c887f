/** A plain table that scrolls sideways where it has no room; for some dozens of rows. */
import { Button, VisuallyHidden } from "@mantine/core";
import { type ReactElement, type ReactNode, useRef } from "react";
import { MoreRight, shadedFrame } from "@/widgets/more_right";
import classes from "@/widgets/rows.module.css";

export { classes as rows };

export function Rows(props: { label: string; children: ReactNode }): ReactElement {
  const scroller = useRef<HTMLDivElement>(null);
  return (
    <div className={shadedFrame}>
      <div
        ref={scroller}
        className={classes.scroll}
        tabIndex={0}
        role="region"
        aria-label={props.label}
      >
        <table className={classes.rows}>{props.children}</table>
      </div>
      <MoreRight scroller={scroller} />
    </div>
  );
}

/** What can be done with the thing of a row: quieter than what stands in it. */
export function RowButton(props: {
  children: string;
  /** All of what it does: a row has no other name for those who hear it. */
  label: string;
  onClick: () => void;
}): ReactElement {
  const { children, label, onClick } = props;
  return (
    <Button
      variant="subtle"
      size="compact-xs"
      className={classes.button}
      aria-label={label}
      onClick={onClick}
    >
      {children}
    </Button>
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
