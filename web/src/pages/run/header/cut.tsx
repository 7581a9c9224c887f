/** The beginning of what is long, and all of it on demand: the tabs below stay in sight. */
import { Button } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { type ReactElement, type ReactNode, useRef, useState } from "react";
import classes from "@/pages/run/header/header.module.css";

export function Cut(props: {
  label: string;
  /** In pixels, while it is cut. */
  height: number;
  children: ReactNode;
}): ReactElement {
  const { label, height, children } = props;
  const [isOpen, setIsOpen] = useState(false);
  const { ref: content, height: whole } = useElementSize<HTMLDivElement>();
  const isLong = whole > height + 1;
  const box = useRef<HTMLDivElement>(null);
  return (
    <div className={classes.cutFrame}>
      <div
        ref={box}
        className={classes.cutBox}
        data-cut={isLong && !isOpen}
        style={isOpen ? undefined : { maxHeight: height }}
        role="region"
        aria-label={label}
        tabIndex={isOpen && isLong ? 0 : undefined}
      >
        <div ref={content}>{children}</div>
      </div>
      {isLong && (
        <Button
          variant="subtle"
          size="compact-xs"
          fw={400}
          className={classes.cutButton}
          aria-expanded={isOpen}
          onClick={() => {
            box.current?.scrollTo({ top: 0 });
            setIsOpen(!isOpen);
          }}
        >
          {isOpen ? "Show less" : "Show all of it"}
        </Button>
      )}
    </div>
  );
}
