/** Params and metrics of the runs against each other: parallel coordinates, or a scatter plot. */
import { MultiSelect, SegmentedControl, Select, UnstyledButton } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useState, type ReactElement } from "react";
import { RunLabel, useColumns } from "@/pages/compare/columns";
import classes from "@/pages/compare/compare.module.css";
import type { Comparison } from "@/pages/compare/data";
import { axisOf, canBeLog, type Axis } from "@/pages/compare/plots/axis";
import { chosenFields, fieldsOf, type Field } from "@/pages/compare/plots/fields";
import { Parallel, PARALLEL } from "@/pages/compare/plots/parallel";
import plots from "@/pages/compare/plots/plots.module.css";
import { Scatter, SCATTER } from "@/pages/compare/plots/scatter";

const AXES_USUAL = 5;
const AXES_MAX = 10;
/** Pixels of an axis at least: on a phone the plot scrolls. */
const AXIS_WIDTH = 104;

interface PlotChoice {
  plot?: "scatter" | undefined;
  axes?: string[] | undefined;
  log?: string[] | undefined;
}

export function PlotsSection(props: {
  comparison: Comparison;
  choice: PlotChoice;
  onChoice: (choice: PlotChoice) => void;
}): ReactElement {
  const { comparison, choice, onChoice } = props;
  const fields = fieldsOf(comparison);
  const isScatter = choice.plot === "scatter";
  const shown = chosenFields(fields, choice.axes ?? [], isScatter ? 2 : AXES_USUAL);
  const data = fields.map(({ name, label }) => ({ value: name, label }));
  const choose = (axes: string[]): void => {
    onChoice({ ...choice, axes });
  };
  return (
    <section className={classes.section}>
      <h2>
        Params and metrics
        {shown.length >= 2 && (
          <>
            <span className={classes.rest} />
            <SegmentedControl
              aria-label="Which plot"
              value={isScatter ? "scatter" : "parallel"}
              data={[
                { value: "parallel", label: "Parallel coordinates" },
                { value: "scatter", label: "Scatter" },
              ]}
              onChange={(wanted) => {
                onChoice({ ...choice, plot: wanted === "scatter" ? "scatter" : undefined });
              }}
            />
          </>
        )}
      </h2>
      {shown.length < 2 ? (
        <p className={`${classes.padded} ${classes.missing}`}>
          Two params or metrics that two runs have at least are needed here.
        </p>
      ) : (
        <>
          <div className={plots.bar}>
            {isScatter ? (
              <>
                <AxisSelect
                  label="Across"
                  data={data}
                  value={shown[0]?.name ?? null}
                  onChange={(name) => {
                    choose([name, shown[1]?.name ?? name]);
                  }}
                />
                <AxisSelect
                  label="Up"
                  data={data}
                  value={(shown[1] ?? shown[0])?.name ?? null}
                  onChange={(name) => {
                    choose([shown[0]?.name ?? name, name]);
                  }}
                />
              </>
            ) : (
              <MultiSelect
                className={plots.axes}
                label="Axes, in their order"
                data={data}
                value={shown.map(({ name }) => name)}
                maxValues={AXES_MAX}
                searchable
                hidePickedOptions
                onChange={choose}
              />
            )}
            <MultiSelect
              className={plots.axis}
              label="Log axes"
              placeholder={(choice.log ?? []).length === 0 ? "none" : ""}
              data={shown
                .filter(canBeLog)
                .map(({ name, label }) => ({ value: name, label }))
                .filter(({ value }, at, all) => all.findIndex((one) => one.value === value) === at)}
              value={(choice.log ?? []).filter((name) => shown.some((one) => one.name === name))}
              onChange={(log) => {
                onChoice({ ...choice, log });
              }}
            />
          </div>
          <Drawing fields={shown} isScatter={isScatter} log={choice.log ?? []} />
        </>
      )}
    </section>
  );
}

function AxisSelect(props: {
  label: string;
  data: { value: string; label: string }[];
  value: string | null;
  onChange: (name: string) => void;
}): ReactElement {
  const { onChange, ...rest } = props;
  return (
    <Select
      {...rest}
      className={plots.axis}
      searchable
      allowDeselect={false}
      onChange={(name) => {
        if (name !== null) onChange(name);
      }}
    />
  );
}

function Drawing(props: {
  fields: Field[];
  isScatter: boolean;
  log: readonly string[];
}): ReactElement {
  const { fields, isScatter, log } = props;
  const { ref, width: room } = useElementSize();
  const columns = useColumns();
  const [focus, setFocus] = useState<string | null>(null);
  const look = { columns, focus, onFocus: setFocus };
  const isLog = (field: Field): boolean => log.includes(field.name);
  const width = Math.max(room, isScatter ? 320 : AXIS_WIDTH * fields.length);
  let axes: Axis[];
  let drawing: ReactElement | null;
  if (isScatter) {
    const { height, top, bottom, left, right } = SCATTER;
    const [across, up = across] = fields;
    if (across === undefined || up === undefined) return <></>;
    const x = axisOf(across, { start: left, length: width - left - right, isLog: isLog(across) });
    const y = axisOf(up, {
      start: height - bottom,
      length: top + bottom - height,
      isLog: isLog(up),
    });
    axes = [x, y];
    drawing = <Scatter {...{ x, y, width }} {...look} />;
  } else {
    const { height, top, bottom } = PARALLEL;
    axes = fields.map((field) =>
      axisOf(field, {
        start: height - bottom,
        length: top + bottom - height,
        isLog: isLog(field),
      }),
    );
    drawing = <Parallel {...{ axes, width }} {...look} />;
  }
  return (
    <>
      <div className={plots.box} tabIndex={0} role="region" aria-label="Plot">
        <div ref={ref}>{room > 0 && drawing}</div>
      </div>
      <div className={plots.legend}>
        {columns.map((column) => (
          <UnstyledButton
            key={column.run.id}
            className={plots.key}
            onPointerEnter={() => {
              setFocus(column.run.id);
            }}
            onPointerLeave={() => {
              setFocus(null);
            }}
            onFocus={() => {
              setFocus(column.run.id);
            }}
            onBlur={() => {
              setFocus(null);
            }}
          >
            <RunLabel column={column} />
          </UnstyledButton>
        ))}
      </div>
      <Hidden axes={axes} />
    </>
  );
}

/** What an axis has no place for is said. */
function Hidden(props: { axes: readonly Axis[] }): ReactElement | null {
  const said = props.axes.flatMap((axis) => {
    const none = axis.field.values.filter((value) => value === null).length;
    return [
      ...(none > 0 ? [`${axis.field.label}: ${String(none)} without a value`] : []),
      ...(axis.hiddenCount > 0
        ? [`${axis.field.label}: ${String(axis.hiddenCount)} not above 0, not on this scale`]
        : []),
    ];
  });
  return said.length === 0 ? null : <p className={plots.said}>{[...new Set(said)].join("; ")}</p>;
}
