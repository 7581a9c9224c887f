/** The numbers of a chart as a table, for whoever reads rather than looks. */
import { Modal, Select } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { shortNumber, wholeNumber } from "@/base/numbers";
import { axisName, placeText } from "@/charts/axes";
import { entriesIn, type CurveData } from "@/charts/columns";
import classes from "@/charts/numbers_table.module.css";
import type { Axis } from "@/charts/reading";
import type { Range } from "@/charts/scales";
import type { DrawnLine } from "@/charts/scene";

/** More rows nobody reads; the file has all. */
const ROWS_MAX = 500;

export function NumbersTable(props: {
  title: string;
  axis: Axis;
  lines: readonly DrawnLine[];
  seen: Range;
  isOpen: boolean;
  onClose: () => void;
}): ReactElement {
  const { title, axis, lines, seen, isOpen, onClose } = props;
  const [chosen, setChosen] = useState("0");
  const line = lines[Number(chosen)] ?? lines[0];
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={`Numbers of ${title}`}
      size="xl"
      lockScroll={false}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {lines.length > 1 && (
        <Select
          label="Line"
          data={lines.map(({ name }, at) => ({ value: String(at), label: name }))}
          value={chosen}
          allowDeselect={false}
          searchable
          onChange={(value) => {
            if (value !== null) setChosen(value);
          }}
        />
      )}
      {line === undefined ? <p>The chart has no points.</p> : <Rows {...{ axis, line, seen }} />}
    </Modal>
  );
}

function Rows(props: { axis: Axis; line: DrawnLine; seen: Range }): ReactElement {
  const { axis, line, seen } = props;
  const { data } = line;
  const [start, stop] = entriesIn(data, seen[0], seen[1]);
  const shown = Array.from({ length: Math.min(ROWS_MAX, stop - start) }, (_, at) => start + at);
  const columns = shown.every((at) => data.count[at] === 1) ? OF_POINTS : OF_BUCKETS;
  return (
    <>
      {stop - start > ROWS_MAX && (
        <p>
          The first {wholeNumber(ROWS_MAX)} of {wholeNumber(stop - start)} rows: zoom in, or save
          all points as CSV.
        </p>
      )}
      <table className={classes.table}>
        <caption>{line.name}</caption>
        <thead>
          <tr>
            <th scope="col">{axisName(axis)}</th>
            {axis !== "step" && <th scope="col">step</th>}
            {columns.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((at) => {
            const place = data.firstX[at] as number;
            return (
              <tr key={at}>
                <th scope="row">{axis === "step" ? wholeNumber(place) : placeText(axis, place)}</th>
                {axis !== "step" && <td>{wholeNumber(data.firstStep[at] as number)}</td>}
                {columns.map(({ name, text }) => (
                  <td key={name}>{text(data, at)}</td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}

interface Column {
  readonly name: string;
  readonly text: (data: CurveData, at: number) => string;
}

const OF_POINTS: readonly Column[] = [
  { name: "value", text: (data, at) => allDigits(data.first[at] as number) },
];
const OF_BUCKETS: readonly Column[] = [
  { name: "last step", text: (data, at) => wholeNumber(data.lastStep[at] as number) },
  { name: "points", text: (data, at) => wholeNumber(data.count[at] as number) },
  { name: "first", text: (data, at) => shortNumber(data.first[at]) },
  { name: "min", text: (data, at) => finite(data.low[at]) },
  { name: "mean", text: (data, at) => finite(data.mean[at]) },
  { name: "max", text: (data, at) => finite(data.high[at]) },
  { name: "last", text: (data, at) => shortNumber(data.last[at]) },
];

/** Returns a value with every digit that it has. */
function allDigits(value: number): string {
  return Number.isFinite(value) ? String(value).replace("-", "−") : shortNumber(value);
}

/** NaN stands for "no finite value" in these columns. */
function finite(value: number | undefined): string {
  return shortNumber(value === undefined || Number.isNaN(value) ? null : value);
}
