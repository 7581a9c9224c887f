/** What a reader chooses for all charts of a run. */
import { Select, Switch } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { OWN_AXES } from "@/charts/axes";
import { WEIGHTS } from "@/charts/smoothing";
import { wholeNumber } from "@/base/numbers";
import type { ChartsAddress } from "@/pages/run/charts/address";
import classes from "@/pages/run/charts/charts.module.css";
import { SearchBox } from "@/widgets/search_box";

/** Long lists are searched, not read. */
const OPTIONS_MAX = 50;

export function Toolbar(props: {
  address: ChartsAddress;
  /** Series that curves can be drawn over. */
  axes: readonly string[];
  labels: readonly string[];
  found: number;
  total: number;
  onChange: (change: ChartsAddress) => void;
}): ReactElement {
  const { address, axes, labels, found, total, onChange } = props;
  return (
    <div className={classes.toolbar}>
      <SearchBox
        label="Search keys"
        placeholder="Search keys"
        className={classes.search}
        value={address.charts ?? ""}
        onSeek={(charts) => {
          onChange({ charts: charts === "" ? undefined : charts });
        }}
      />
      <span className={classes.count} role="status">
        {found === total ? wholeNumber(total) : `${wholeNumber(found)} of ${wholeNumber(total)}`}{" "}
        {total === 1 ? "chart" : "charts"}
      </span>
      <AxisChoice {...{ address, axes, onChange }} />
      <Select
        aria-label="Smoothing"
        className={classes.smoothing}
        data={WEIGHTS.map((weight) => ({ value: String(weight), label: weightText(weight) }))}
        value={String(address.smooth ?? 0)}
        allowDeselect={false}
        onChange={(weight) => {
          if (weight !== null) onChange({ smooth: Number(weight) });
        }}
      />
      {labels.length > 0 && (
        <Select
          aria-label="Coloured by"
          className={classes.by}
          data={[
            { value: "", label: "colour by series" },
            ...labels.map((label) => ({ value: label, label: `colour by ${label}` })),
          ]}
          value={address.by ?? ""}
          allowDeselect={false}
          onChange={(by) => {
            if (by !== null) onChange({ by });
          }}
        />
      )}
      <div className={classes.switches}>
        <Switch
          label="log x"
          checked={address.logx ?? false}
          onChange={(event) => {
            onChange({ logx: event.currentTarget.checked || undefined });
          }}
        />
        <Switch
          label="log y"
          checked={address.logy ?? false}
          onChange={(event) => {
            onChange({ logy: event.currentTarget.checked || undefined });
          }}
        />
        <Switch
          label="clip outliers"
          checked={address.clip ?? false}
          onChange={(event) => {
            onChange({ clip: event.currentTarget.checked || undefined });
          }}
        />
      </div>
    </div>
  );
}

/** Thousands of series are offered only when one asks for them. */
function AxisChoice(props: {
  address: ChartsAddress;
  axes: readonly string[];
  onChange: (change: ChartsAddress) => void;
}): ReactElement {
  const { address, axes, onChange } = props;
  const [isOpen, setIsOpen] = useState(false);
  const chosen = address.x ?? "step";
  const isOwn = OWN_AXES.some(({ value }) => value === chosen);
  const offered = isOpen ? axes : isOwn ? [] : [chosen];
  return (
    <Select
      aria-label="Drawn over"
      className={classes.axis}
      data={[
        ...OWN_AXES.map(({ value, label }) => ({ value, label: `over ${label}` })),
        {
          group: "a metric",
          items: offered.map((name) => ({ value: name, label: `over ${name}` })),
        },
      ]}
      value={chosen}
      searchable
      limit={OPTIONS_MAX}
      // A series has a longer name than the control has room for.
      comboboxProps={{ width: 320, position: "bottom-start" }}
      allowDeselect={false}
      nothingFoundMessage="No such metric"
      onDropdownOpen={() => {
        setIsOpen(true);
      }}
      onDropdownClose={() => {
        setIsOpen(false);
      }}
      onChange={(x) => {
        if (x !== null) onChange({ x, zoom: undefined });
      }}
    />
  );
}

/** Returns what a weight means: about how many points count. */
function weightText(weight: number): string {
  if (weight === 0) return "no smoothing";
  return `${weight} (≈ ${wholeNumber(Math.round(1 / (1 - weight)))} pts)`;
}
