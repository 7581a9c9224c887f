/** Which columns a table has: those that are shown, in their order, and all that a project has to show. */
import { Button, CloseButton, Popover, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useMemo, useState } from "react";
import { COLUMNS_MAX } from "@/pages/runs/address";
import { STATISTICS, statisticText } from "@/pages/runs/changing";
import { DEFAULT_COLUMNS, lookOf } from "@/pages/runs/columns";
import classes from "@/pages/runs/columns_button.module.css";
import { matching, moved, offered, type Offer } from "@/pages/runs/offers";
import { fieldsQuery } from "@/state/fields";
import { parsedQuery } from "@/state/parsing";
import { Failure } from "@/widgets/failure";

const SEARCH_MS = 150;
/** Of one kind are shown, until a search narrows them. */
const OFFERS_SHOWN = 60;

interface ColumnsProps {
  project: string;
  columns: readonly string[];
  onColumns: (columns: string[] | undefined) => void;
}

export function ColumnsButton(props: ColumnsProps): ReactElement {
  return (
    <Popover position="bottom-end" width={380} trapFocus withinPortal shadow="md">
      <Popover.Target>
        <Button variant="default" className={classes.button}>
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown className={classes.dropdown} aria-label="Columns">
        <Chooser {...props} />
      </Popover.Dropdown>
    </Popover>
  );
}

function Chooser({ project, columns, onColumns }: ColumnsProps): ReactElement {
  const [search, setSearch] = useState("");
  const [asked] = useDebouncedValue(search.trim(), SEARCH_MS);
  const all = useQuery(fieldsQuery(project, ""));
  // A project with more names than one answer has is asked for those that begin so.
  const isCut = all.data !== undefined && !all.data.is_complete;
  const narrowed = useQuery({ ...fieldsQuery(project, asked), enabled: isCut && asked !== "" });
  const typed = useQuery({
    ...parsedQuery({ project, columns: asked, caret: 0, completing: "columns" }),
    enabled: asked !== "",
  });
  const offers = useMemo(
    () => matching(offered(all.data, narrowed.data), search),
    [all.data, narrowed.data, search],
  );
  const isFull = columns.length >= COLUMNS_MAX;
  const add = (text: string): void => {
    if (!isFull && !columns.includes(text)) onColumns([...columns, text]);
  };
  const remove = (text: string): void => {
    onColumns(columns.filter((column) => column !== text));
  };
  const asText = (typed.data?.columns ?? []).filter(
    (column) => !columns.includes(column) && !offers.some(({ text }) => text === column),
  );
  return (
    <>
      <TextInput
        data-autofocus
        aria-label="Search for a column"
        placeholder="Search: loss, params.lr, metrics.acc AT MIN metrics.loss"
        value={search}
        onChange={({ currentTarget }) => {
          setSearch(currentTarget.value);
        }}
      />
      <div className={classes.scroller} tabIndex={0} role="region" aria-label="Columns to choose">
        {search === "" && (
          <section>
            <h3 className={classes.title}>Shown</h3>
            <ol className={classes.list}>
              {columns.map((column, at) => (
                <ShownColumn
                  key={column}
                  column={column}
                  isFirst={at === 0}
                  isLast={at === columns.length - 1}
                  onMove={(by) => {
                    onColumns(moved(columns, at, by));
                  }}
                  onRemove={() => {
                    remove(column);
                  }}
                />
              ))}
            </ol>
          </section>
        )}
        {asText.map((column) => (
          <button
            key={column}
            type="button"
            className={classes.offer}
            disabled={isFull}
            onClick={() => {
              add(column);
              setSearch("");
            }}
          >
            <span className={classes.label}>{column}</span>
            <span className={classes.kind}>as typed</span>
          </button>
        ))}
        {all.error !== null && <Failure error={all.error} onRetry={() => void all.refetch()} />}
        {(["metric", "param", "tag", "attribute"] as const).map((kind) => (
          <Offers
            key={kind}
            title={TITLES[kind]}
            offers={offers.filter((offer) => offer.kind === kind)}
            columns={columns}
            isFull={isFull}
            onAdd={add}
            onRemove={remove}
          />
        ))}
        {offers.length === 0 && asText.length === 0 && all.data !== undefined && (
          <p className={classes.none}>Nothing of this project is called so.</p>
        )}
      </div>
      <div className={classes.foot}>
        <span>
          {columns.length} of {COLUMNS_MAX}
        </span>
        <Button
          variant="subtle"
          disabled={columns.join() === DEFAULT_COLUMNS.join()}
          onClick={() => {
            onColumns(undefined);
          }}
        >
          Usual columns
        </Button>
      </div>
    </>
  );
}

const TITLES = {
  metric: "Metrics",
  param: "Params",
  tag: "Tags",
  attribute: "Of every run",
} as const;

function ShownColumn(props: {
  column: string;
  isFirst: boolean;
  isLast: boolean;
  onMove: (by: number) => void;
  onRemove: () => void;
}): ReactElement {
  const { column, isFirst, isLast, onMove, onRemove } = props;
  const { label, detail } = lookOf(column);
  const name = `${label} ${detail}`.trim();
  return (
    <li className={classes.shown}>
      <span className={classes.label} title={column}>
        <bdi>{label}</bdi> <span className={classes.kind}>{detail}</span>
      </span>
      {(["up", "down"] as const).map((way) => (
        <button
          key={way}
          type="button"
          className={classes.step}
          aria-label={`Move ${name} ${way}`}
          disabled={way === "up" ? isFirst : isLast}
          onClick={() => {
            onMove(way === "up" ? -1 : 1);
          }}
        >
          {way === "up" ? "↑" : "↓"}
        </button>
      ))}
      <CloseButton
        size="xs"
        aria-label={`Hide ${name}`}
        disabled={column === "name"}
        onClick={onRemove}
      />
    </li>
  );
}

function Offers(props: {
  title: string;
  offers: readonly Offer[];
  columns: readonly string[];
  isFull: boolean;
  onAdd: (text: string) => void;
  onRemove: (text: string) => void;
}): ReactElement | null {
  const { title, offers, columns, isFull, onAdd, onRemove } = props;
  if (offers.length === 0) return null;
  const more = offers.length - OFFERS_SHOWN;
  return (
    <section>
      <h3 className={classes.title}>{title}</h3>
      <ul className={classes.list}>
        {offers.slice(0, OFFERS_SHOWN).map((offer) => {
          const isShown = columns.includes(offer.text);
          return (
            <li key={offer.text} className={classes.row}>
              <button
                type="button"
                className={classes.offer}
                aria-pressed={isShown}
                disabled={isFull && !isShown}
                onClick={() => {
                  (isShown ? onRemove : onAdd)(offer.text);
                }}
              >
                <span className={classes.check} aria-hidden="true">
                  {isShown ? "✓" : ""}
                </span>
                <span className={classes.label} title={offer.text}>
                  <bdi>{offer.label}</bdi>
                </span>
              </button>
              {offer.kind === "metric" && (
                <select
                  className={classes.statistic}
                  aria-label={`Statistic of ${offer.label}`}
                  value=""
                  disabled={isFull}
                  onChange={({ currentTarget }) => {
                    onAdd(statisticText(offer.text, currentTarget.value));
                  }}
                >
                  <option value="" disabled>
                    + statistic
                  </option>
                  {STATISTICS.map((statistic) => (
                    <option
                      key={statistic}
                      value={statistic}
                      disabled={columns.includes(statisticText(offer.text, statistic))}
                    >
                      {statistic}
                    </option>
                  ))}
                </select>
              )}
            </li>
          );
        })}
      </ul>
      {more > 0 && <p className={classes.none}>and {more} more: search for them</p>}
    </section>
  );
}
