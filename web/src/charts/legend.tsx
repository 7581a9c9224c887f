/** Which line is which, and where each stands. */
import type { ReactElement } from "react";
import { useComputedColorScheme } from "@mantine/core";
import { lineColour } from "@/base/colours";
import { shortNumber } from "@/base/numbers";
import type { LineSource } from "@/charts/following";
import classes from "@/charts/legend.module.css";

interface LegendProps {
  readonly lines: readonly LineSource[];
  readonly isShown: (id: string) => boolean;
  /** Shows a line or takes it out of the drawing. */
  readonly onToggle: (id: string) => void;
  /** Shows one line alone, or all again. */
  readonly onOnly: (id: string) => void;
  /** Null: no line is looked at. */
  readonly onFocus: (id: string | null) => void;
  /** What went wrong with a line. */
  readonly failureOf: (id: string) => string | null;
}

export function Legend(props: LegendProps): ReactElement {
  const { lines, isShown, onToggle, onOnly, onFocus, failureOf } = props;
  const scheme = useComputedColorScheme("light");
  return (
    <div className={classes.legend}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">Line</th>
            <th scope="col">Last</th>
            <th scope="col">Min</th>
            <th scope="col">Max</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => {
            const { id, name, head } = line;
            const failure = failureOf(id);
            return (
              <tr
                key={id}
                data-hidden={!isShown(id)}
                onPointerEnter={() => {
                  onFocus(isShown(id) ? id : null);
                }}
                onPointerLeave={() => {
                  onFocus(null);
                }}
              >
                <th scope="row">
                  <button
                    type="button"
                    className={classes.line}
                    aria-pressed={isShown(id)}
                    title={`${name}\nClick shows or hides it; with shift, it alone.`}
                    onClick={(event) => {
                      if (event.shiftKey) onOnly(id);
                      else onToggle(id);
                    }}
                  >
                    <span
                      className={classes.swatch}
                      style={{ background: lineColour(line.colour, scheme) }}
                    />
                    <span className={classes.name}>{name}</span>
                    {failure !== null && (
                      <span className={classes.failure} title={failure}>
                        {failure}
                      </span>
                    )}
                  </button>
                </th>
                <td>{shortNumber(head?.last)}</td>
                <td>{shortNumber(head?.min)}</td>
                <td>{shortNumber(head?.max)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
