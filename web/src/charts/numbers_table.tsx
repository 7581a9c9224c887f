/** The numbers of a chart as a table, for whoever reads rather than looks. */
import { Modal, Select } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { shortNumber, wholeNumber } from "@/base/numbers";
import { axisName, placeText } from "@/charts/axes";
import { entriesIn } from "@/charts/columns";
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
            <th scope="col">points</th>
            <th scope="col">first</th>
            <th scope="col">min</th>
            <th scope="col">mean</th>
            <th scope="col">max</th>
            <th scope="col">last</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((at) => {
            const place = data.firstX[at] as number;
            return (
              <tr key={at}>
                <th scope="row">{axis === "step" ? wholeNumber(place) : placeText(axis, place)}</th>
                {axis !== "step" && <td>{wholeNumber(data.firstStep[at] as number)}</td>}
                <td>{wholeNumber(data.count[at] as number)}</td>
                <td>{shortNumber(data.first[at])}</td>
                <td>{told(data.low[at])}</td>
                <td>{told(data.mean[at])}</td>
                <td>{told(data.high[at])}</td>
                <td>{shortNumber(data.last[at])}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}

/** NaN stands for "no finite value" in these columns. */
function told(value: number | undefined): string {
  return shortNumber(value === undefined || Number.isNaN(value) ? null : value);
}
