/** The tabs of a page in one row, with the chosen one in sight. */
import { Tabs } from "@mantine/core";
import { type ReactElement, type ReactNode, useEffect, useRef } from "react";
import { MoreRight, shadedFrame } from "@/widgets/more_right";
import classes from "@/widgets/tab_row.module.css";

export function TabRow(props: {
  /** The value of the chosen tab. */
  chosen: string;
  className?: string | undefined;
  children: ReactNode;
}): ReactElement {
  const { chosen, className = "", children } = props;
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const tab = row.current?.querySelector("[role='tab'][aria-selected='true']");
    tab?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [chosen]);
  return (
    <div className={shadedFrame}>
      <Tabs.List ref={row} className={`${classes.row ?? ""} ${className}`}>
        {children}
      </Tabs.List>
      <MoreRight scroller={row} />
    </div>
  );
}
