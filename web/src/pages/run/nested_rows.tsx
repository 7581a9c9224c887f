/** Keys and values, flat or as a tree: params, config, environment, spec. */
import { ActionIcon, SegmentedControl } from "@mantine/core";
import { type ReactElement, useDeferredValue, useMemo, useState } from "react";
import { wholeNumber } from "@/base/numbers";
import { type NodeRow, rowsOf, treeOf } from "@/base/nested";
import classes from "@/pages/run/nested_rows.module.css";
import { Copy } from "@/widgets/copy";
import { Empty } from "@/widgets/empty";
import { SearchBox } from "@/widgets/search_box";
import { VirtualRows } from "@/widgets/virtual_rows";

export interface Leaf {
  /** As it is shown and copied. */
  text: string;
  /** Where it came from. */
  title?: string;
}

interface Props {
  label: string;
  leaves: readonly (readonly [string, Leaf])[];
  sought: string;
  onSeek: (text: string) => void;
  isTree: boolean;
  onTree: (isTree: boolean) => void;
}

export function NestedRows(props: Props): ReactElement {
  const { label, leaves, sought, onSeek, isTree, onTree } = props;
  const wanted = useDeferredValue(sought);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const found = useMemo(() => matching(leaves, wanted), [leaves, wanted]);
  const rows = useMemo(
    (): NodeRow<Leaf>[] =>
      isTree
        ? rowsOf(treeOf(found), closed)
        : found.map(([key, value]) => ({
            node: { name: key, key, value, children: [] },
            depth: 0,
          })),
    [found, isTree, closed],
  );
  return (
    <>
      <div className={classes.bar}>
        <SearchBox
          label={`Search in ${label}`}
          placeholder="Search keys and values"
          className={classes.search}
          value={sought}
          onSeek={onSeek}
        />
        <SegmentedControl
          aria-label="How keys are shown"
          value={isTree ? "tree" : "flat"}
          data={[
            { value: "flat", label: "Flat" },
            { value: "tree", label: "Tree" },
          ]}
          onChange={(value) => {
            onTree(value === "tree");
          }}
        />
        <span className={classes.count} aria-live="polite">
          {found.length === leaves.length
            ? wholeNumber(leaves.length)
            : `${wholeNumber(found.length)} of ${wholeNumber(leaves.length)}`}
        </span>
        <Copy
          label="Copy all as JSON"
          text={JSON.stringify(
            Object.fromEntries(found.map(([key, { text }]) => [key, text])),
            null,
            2,
          )}
        />
      </div>
      {rows.length === 0 ? (
        <Empty title="Nothing matches the search." />
      ) : (
        <VirtualRows
          label={label}
          count={rows.length}
          rowHeight={32}
          rowKey={(at) => rows[at]?.node.key ?? at}
          head={
            <div role="row" className={classes.head}>
              <span role="columnheader">Key</span>
              <span role="columnheader">Value</span>
            </div>
          }
        >
          {(at) => {
            const row = rows[at];
            if (row === undefined) return null;
            const { key } = row.node;
            return (
              <Row
                row={row}
                isClosed={closed.has(key)}
                onFold={() => {
                  setClosed(toggled(closed, key));
                }}
                isOpen={open.has(key)}
                onOpen={() => {
                  setOpen(toggled(open, key));
                }}
              />
            );
          }}
        </VirtualRows>
      )}
    </>
  );
}

interface RowProps {
  row: NodeRow<Leaf>;
  isClosed: boolean;
  onFold: () => void;
  isOpen: boolean;
  onOpen: () => void;
}

function Row(props: RowProps): ReactElement {
  const { node, depth } = props.row;
  const { value } = node;
  return (
    <div role="row" className={classes.row} data-open={props.isOpen}>
      <span role="cell" className={classes.key} style={{ paddingLeft: 12 + depth * 16 }}>
        {node.children.length > 0 && (
          <ActionIcon
            size="xs"
            aria-label={props.isClosed ? `Open ${node.key}` : `Close ${node.key}`}
            aria-expanded={!props.isClosed}
            onClick={props.onFold}
          >
            {props.isClosed ? "▸" : "▾"}
          </ActionIcon>
        )}
        <span className={classes.text} title={node.key}>
          {node.name === "" ? "(empty)" : node.name}
        </span>
      </span>
      <span role="cell" className={classes.value}>
        {value !== undefined && (
          <>
            <button
              type="button"
              className={classes.text}
              title={value.title}
              aria-expanded={props.isOpen}
              aria-label={`${node.key}: ${value.text.slice(0, 200)}`}
              onClick={props.onOpen}
            >
              {props.isOpen ? value.text : value.text.slice(0, 400)}
            </button>
            <span className={classes.copy}>
              <Copy text={value.text} label={`Copy the value of ${node.key}`} />
            </span>
          </>
        )}
        {value === undefined && props.isClosed && (
          <span className={classes.count}>{wholeNumber(node.children.length)} below</span>
        )}
      </span>
    </div>
  );
}

function toggled(set: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(key)) next.add(key);
  return next;
}

function matching(
  leaves: readonly (readonly [string, Leaf])[],
  wanted: string,
): readonly (readonly [string, Leaf])[] {
  const text = wanted.trim().toLowerCase();
  if (text === "") return leaves;
  return leaves.filter(
    ([key, value]) => key.toLowerCase().includes(text) || value.text.toLowerCase().includes(text),
  );
}
