/** The table of runs: virtual rows under a head that stays, led by the keyboard like a grid. */
import { Skeleton } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  type ReactElement,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { RunsChange } from "@/pages/runs/address";
import { askedColumns, type ColumnLook } from "@/pages/runs/columns";
import { Head } from "@/pages/runs/head";
import { stepOf } from "@/pages/runs/keys";
import { isNothing, type RunRow, type Waiting } from "@/pages/runs/merging";
import { newsText } from "@/pages/runs/news";
import classes from "@/pages/runs/table.module.css";
import { Row, rowId } from "@/pages/runs/table_row";
import { isRight } from "@/pages/runs/values";
import { narrowLook, widths } from "@/pages/runs/widths";
import { MoreRight, shadedFrame } from "@/widgets/more_right";

const ROW_PX = 32;
/** Rows that are drawn beyond what is seen. */
const OVERSCAN = 16;
/** By so many rows a column is judged. */
const SAMPLE = 50;
/** Whoever scrolls finds the next page there: it is asked for so many rows before the end. */
const AHEAD = 150;

interface RunsTableProps {
  project: string;
  rows: readonly RunRow[];
  looks: readonly ColumnLook[];
  sort: string | undefined;
  /** Another order, other columns, or groups instead of rows. */
  onChange: (change: RunsChange) => void;
  chosen: ReadonlySet<string>;
  onChoose: (ids: readonly string[], isChosen: boolean) => void;
  onOpen: (run: string) => void;
  hasMore: boolean;
  onMore: () => void;
  /** The rows are those of another question, whose answer is on its way. */
  isStale: boolean;
  waiting: Waiting;
  onShow: () => void;
  /** Hears whether rows may move. */
  onQuiet: (isQuiet: boolean) => void;
}

export function RunsTable(props: RunsTableProps): ReactElement {
  const { rows, looks, chosen, hasMore, onMore, waiting, onQuiet } = props;
  const isNarrow = useMediaQuery("(max-width: 48em)", window.innerWidth <= 768);
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<string | null>(null);
  const [isOver, setIsOver] = useState(false);
  const [isAtHead, setIsAtHead] = useState(true);
  const anchor = useRef<string | null>(null);
  // eslint-disable-next-line react-hooks/incompatible-library -- what it returns goes to no memo
  const virtual = useVirtualizer({
    count: rows.length + (hasMore ? 1 : 0),
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: (at) => rows[at]?.id ?? "more",
    overscan: OVERSCAN,
    scrollPaddingStart: ROW_PX,
  });
  const items = virtual.getVirtualItems();
  const lastAt = items.at(-1)?.index ?? 0;
  useEffect(() => {
    // Most look at the head of a list and go on: until somebody scrolls, one page is enough.
    const ahead = isAtHead ? 0 : AHEAD;
    if (hasMore && lastAt >= rows.length - ahead) onMore();
  }, [hasMore, lastAt, rows.length, isAtHead, onMore]);
  useEffect(() => {
    onQuiet(isAtHead && !isOver);
  }, [isAtHead, isOver, onQuiet]);

  const places = useMemo(
    () => new Map(askedColumns(looks.map(({ text }) => text)).map((text, at) => [text, at])),
    [looks],
  );
  // Rows are drawn anew only where the looks change, and not with every value that does.
  const sides = useMemo(() => {
    const sample = rows.slice(0, SAMPLE);
    return looks.map((look) => isRight(look, places.get(look.text), sample)).join();
  }, [looks, places, rows]);
  const shownLooks = useMemo(() => {
    const rights = sides.split(",");
    return looks.map((look, at) => ({
      ...(isNarrow ? narrowLook(look) : look),
      isRight: rights[at] === "true",
    }));
  }, [looks, isNarrow, sides]);
  const activeAt = active === null ? -1 : rows.findIndex(({ id }) => id === active);
  const isActiveDrawn = items.some(({ index }) => index === activeAt);

  const { onChoose } = props;
  const choose = useCallback(
    (id: string, isChosen: boolean, isRange: boolean): void => {
      const from = isRange && anchor.current !== null ? indexOf(rows, anchor.current) : -1;
      const to = indexOf(rows, id);
      const ids = from < 0 ? [id] : between(rows, from, to);
      anchor.current = id;
      onChoose(ids, isChosen);
    },
    [rows, onChoose],
  );

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // What is typed into the menu of a column comes by here too.
    if (!event.currentTarget.contains(event.target as Node)) return;
    if (event.target !== event.currentTarget && event.key !== "Escape") return;
    const step = stepOf(event.key, {
      at: activeAt,
      count: rows.length,
      page: items.length - OVERSCAN,
    });
    const run = rows[activeAt];
    if (step !== null) {
      const next = rows[step];
      if (next === undefined) return;
      setActive(next.id);
      virtual.scrollToIndex(step);
      if (event.shiftKey) {
        anchor.current ??= run?.id ?? next.id;
        choose(next.id, true, true);
      }
    } else if ((event.key === "x" || event.key === " ") && run !== undefined) {
      choose(run.id, !chosen.has(run.id), false);
    } else if (event.key === "Enter" && run !== undefined) {
      props.onOpen(run.id);
    } else if (event.key === "Escape" && chosen.size > 0) {
      props.onChoose([...chosen], false);
    } else {
      return;
    }
    event.preventDefault();
  };

  return (
    <div className={`${classes.frame} ${shadedFrame}`}>
      <div
        ref={scroller}
        className={classes.scroller}
        role="grid"
        aria-label="Runs"
        aria-rowcount={hasMore ? -1 : rows.length + 1}
        aria-colcount={shownLooks.length + 1}
        aria-multiselectable="true"
        aria-activedescendant={isActiveDrawn ? rowId(active) : undefined}
        aria-busy={props.isStale}
        data-stale={props.isStale}
        tabIndex={0}
        style={widths(shownLooks)}
        onKeyDown={onKeyDown}
        onScroll={(event) => {
          setIsAtHead(event.currentTarget.scrollTop < ROW_PX / 2);
        }}
      >
        {!isNothing(waiting) && (
          <div className={classes.bar} role="presentation">
            <button
              type="button"
              className={classes.news}
              onClick={() => {
                props.onShow();
                scroller.current?.scrollTo({ top: 0 });
              }}
            >
              {newsText(waiting)}
            </button>
          </div>
        )}
        <Head
          looks={shownLooks}
          sort={props.sort}
          onChange={props.onChange}
          isAllChosen={rows.length > 0 && rows.every(({ id }) => chosen.has(id))}
          isSomeChosen={chosen.size > 0}
          onChooseAll={(isChosen) => {
            props.onChoose(isChosen ? rows.map(({ id }) => id) : [...chosen], isChosen);
          }}
        />
        <div
          role="rowgroup"
          className={classes.body}
          style={{ height: virtual.getTotalSize() }}
          onPointerEnter={() => {
            setIsOver(true);
          }}
          onPointerLeave={() => {
            setIsOver(false);
          }}
        >
          {items.map(({ index, start, key }) => {
            const run = rows[index];
            return run === undefined ? (
              <div
                key={key}
                role="row"
                className={classes.row}
                style={{ transform: `translateY(${start}px)` }}
              >
                <span role="gridcell" className={classes.waiting}>
                  <Skeleton height={8} width={160} />
                </span>
              </div>
            ) : (
              <Row
                key={key}
                run={run}
                index={index}
                start={start}
                looks={shownLooks}
                places={places}
                project={props.project}
                isNarrow={isNarrow}
                isChosen={chosen.has(run.id)}
                isActive={run.id === active}
                isGone={waiting.gone.has(run.id)}
                onChoose={choose}
                onActive={setActive}
              />
            );
          })}
        </div>
      </div>
      <MoreRight scroller={scroller} />
    </div>
  );
}

function indexOf(rows: readonly RunRow[], id: string): number {
  return rows.findIndex((row) => row.id === id);
}

function between(rows: readonly RunRow[], one: number, other: number): string[] {
  return rows.slice(Math.min(one, other), Math.max(one, other) + 1).map(({ id }) => id);
}
