/** A long list of which only the rows in sight are drawn; rows may have any height. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactElement, type ReactNode, useRef } from "react";
import { MoreRight, shadedFrame } from "@/widgets/more_right";
import classes from "@/widgets/virtual_rows.module.css";

interface Props {
  count: number;
  /** Of a row that was not drawn yet, in pixels. */
  rowHeight: number;
  rowKey: (at: number) => string | number;
  children: (at: number) => ReactNode;
  label: string;
  /** What stands above the rows and stays in sight. */
  head?: ReactNode;
  className?: string | undefined;
  role?: "table" | "tree" | "list";
}

export function VirtualRows(props: Props): ReactElement {
  const { count, rowHeight, rowKey, children, label, head, className, role = "table" } = props;
  const box = useRef<HTMLDivElement>(null);
  // eslint-disable-next-line react-hooks/incompatible-library -- this component is not memoized
  const rows = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    getItemKey: rowKey,
    overscan: 12,
  });
  return (
    <div className={shadedFrame}>
      <div
        ref={box}
        className={`${classes.box} ${className ?? ""}`}
        tabIndex={0}
        role={role}
        aria-label={label}
        {...(role === "table" ? { "aria-rowcount": count + (head === undefined ? 0 : 1) } : {})}
      >
        {head}
        <div
          className={classes.rows}
          style={{ height: rows.getTotalSize() }}
          role={role === "table" ? "rowgroup" : "presentation"}
        >
          {rows.getVirtualItems().map((item) => (
            <div
              key={item.key}
              data-index={item.index}
              ref={rows.measureElement}
              className={classes.row}
              role="presentation"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              {children(item.index)}
            </div>
          ))}
        </div>
      </div>
      <MoreRight scroller={box} />
    </div>
  );
}
