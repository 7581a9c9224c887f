/** Params, tags or leaves of an environment side by side. */
import type { ReactElement, ReactNode } from "react";
import { wholeNumber } from "@/base/numbers";
import { CompareTable } from "@/pages/compare/columns";
import classes from "@/pages/compare/compare.module.css";
import { shownRows, shownTexts, type ComparedValue } from "@/pages/compare/differences";
import { ManyRows } from "@/pages/compare/many_rows";

export function ValuesSection(props: {
  title: string;
  rows: readonly ComparedValue[];
  isAllShown: boolean;
  /** Part of a key. */
  part: string;
  /** Said where the runs have none at all. */
  none: string;
  children?: ReactNode;
}): ReactElement {
  const { title, rows, isAllShown, part, none, children } = props;
  const matching = rows.filter(({ key }) => hasPart(key, part));
  const { shown, sameCount } = shownRows(matching, isAllShown);
  return (
    <section className={classes.section}>
      <h2>
        {title} <span className={classes.said}>{said(rows, matching, sameCount, isAllShown)}</span>
      </h2>
      {rows.length === 0 && <p className={`${classes.padded} ${classes.missing}`}>{none}</p>}
      {shown.length > 0 && (
        <ManyRows rows={shown}>
          {(some) => (
            <CompareTable label={title} corner="Key">
              {some.map((row) => (
                <ValueRow key={row.key} row={row} />
              ))}
            </CompareTable>
          )}
        </ManyRows>
      )}
      {children}
    </section>
  );
}

/** Says whether a key has a text in it, in any case. */
export function hasPart(key: string, part: string): boolean {
  return part === "" || key.toLocaleLowerCase().includes(part.toLocaleLowerCase());
}

function said(
  rows: readonly ComparedValue[],
  matching: readonly ComparedValue[],
  sameCount: number,
  isAllShown: boolean,
): string {
  if (rows.length === 0) return "";
  if (matching.length === 0) return "no key has that in it";
  const different = `${wholeNumber(matching.length - sameCount)} differ`;
  if (sameCount === 0) return different;
  const same = `${wholeNumber(sameCount)} the same in all runs`;
  return isAllShown ? `${different}, ${same}` : `${different}, ${same} not shown`;
}

function ValueRow(props: { row: ComparedValue }): ReactElement {
  const { key, texts, is_different: isDifferent } = props.row;
  const shown = shownTexts(texts);
  return (
    <tr data-different={isDifferent}>
      <th scope="row" className={classes.key}>
        {key}
      </th>
      {texts.map((text, at) => (
        <td key={at}>
          {text === null ? (
            <span className={classes.missing}>none</span>
          ) : text === "" ? (
            <span className={classes.missing}>empty</span>
          ) : (
            <span className={classes.value} title={text}>
              {shown[at]}
            </span>
          )}
        </td>
      ))}
    </tr>
  );
}
