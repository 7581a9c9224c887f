/** Where the time went, by path. */
import type { ReactElement } from "react";
import { wholeNumber } from "@/base/numbers";
import type { Share } from "@/timeline/shares";
import { spanTime } from "@/timeline/spans";
import classes from "@/pages/run/timeline/timeline.module.css";
import { VirtualRows } from "@/widgets/virtual_rows";

interface Props {
  shares: readonly Share[];
  /** The path that stands out. */
  path: string | null;
  onPath: (path: string | null) => void;
}

export function ShareTable(props: Props): ReactElement {
  const { shares, path, onPath } = props;
  return (
    <VirtualRows
      label="Time by path"
      className={classes.shares}
      count={shares.length}
      rowHeight={32}
      rowKey={(at) => shares[at]?.path ?? at}
      head={
        <div role="row" className={classes.head}>
          <span role="columnheader">Path</span>
          <span role="columnheader">Own share</span>
          {["Own time", "Total", "Count", "Mean", "Longest"].map((name) => (
            <span key={name} role="columnheader" className={classes.number}>
              {name}
            </span>
          ))}
        </div>
      }
    >
      {(at) => {
        const share = shares[at];
        if (share === undefined) return null;
        const isChosen = share.path === path;
        return (
          <div role="row" className={classes.row} data-chosen={isChosen}>
            <span role="cell" className={classes.path}>
              <button
                type="button"
                aria-pressed={isChosen}
                title={`${share.path}: show it in the timeline`}
                onClick={() => {
                  onPath(isChosen ? null : share.path);
                }}
              >
                {share.path}
              </button>
            </span>
            <span role="cell" className={classes.share}>
              <span className={classes.track} aria-hidden="true">
                <span style={{ width: `${share.share * 100}%` }} />
              </span>
              {(share.share * 100).toFixed(1)} %
            </span>
            {[
              spanTime(share.self),
              spanTime(share.total),
              wholeNumber(share.count),
              spanTime(share.count === 0 ? 0 : share.total / share.count),
              spanTime(share.longest),
            ].map((text, column) => (
              <span key={column} role="cell" className={classes.number}>
                {text}
              </span>
            ))}
          </div>
        );
      }}
    </VirtualRows>
  );
}
