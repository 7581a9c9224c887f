/** The lines themselves: only those in sight are drawn; at the end new ones are followed. */
import { Button } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactElement, useEffect, useRef, useState } from "react";
import { LogRow } from "@/pages/run/logs/row";
import classes from "@/pages/run/logs/logs.module.css";
import type { Log } from "@/state/log_lines";

const LINE_HEIGHT = 20;
/** So many pixels from an end more lines are asked for. */
const NEAR = 400;

interface Props {
  log: Log;
  from: "newest" | "first";
  isLive: boolean;
}

export function LogRows(props: Props): ReactElement {
  const { log, from, isLive } = props;
  const box = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(from === "newest");
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const { lines } = log;
  // eslint-disable-next-line react-hooks/incompatible-library -- this component is not memoized
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_HEIGHT,
    getItemKey: (at) => lines[at]?.id ?? at,
    overscan: 20,
    // Older lines come in above without moving what is read; at the end the newest are followed.
    anchorTo: from === "newest" ? "end" : "start",
    followOnAppend: from === "newest",
    scrollEndThreshold: 8,
  });
  const hasBegun = useRef(false);
  useEffect(() => {
    if (hasBegun.current || from !== "newest") return;
    hasBegun.current = true;
    rows.scrollToEnd();
  }, [rows, from]);

  const look = (): void => {
    const place = box.current;
    if (place === null) return;
    const below = place.scrollHeight - place.clientHeight - place.scrollTop;
    setAtEnd(below < 8);
    if (place.scrollTop < NEAR && !log.isReading) log.readEarlier();
    if (below < NEAR && !log.isReading) log.readLater();
  };
  return (
    <div className={classes.frame}>
      <div
        ref={box}
        className={classes.box}
        onScroll={look}
        tabIndex={0}
        role="log"
        aria-label="Log lines"
        aria-live="off"
        aria-busy={log.isReading}
      >
        <div className={classes.lines} style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map((item) => {
            const line = lines[item.index];
            if (line === undefined) return null;
            return (
              <div
                key={item.key}
                data-index={item.index}
                ref={rows.measureElement}
                className={classes.place}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <LogRow
                  line={line}
                  isOpen={open.has(line.id)}
                  onToggle={() => {
                    const next = new Set(open);
                    if (!next.delete(line.id)) next.add(line.id);
                    setOpen(next);
                  }}
                />
              </div>
            );
          })}
        </div>
      </div>
      {from === "newest" && !isAtEnd && (
        <Button
          className={classes.jump}
          onClick={() => {
            rows.scrollToEnd();
          }}
        >
          {isLive ? "Follow the newest" : "To the newest"}
        </Button>
      )}
    </div>
  );
}
