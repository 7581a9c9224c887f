/** The tab Charts of a run: one chart a key, drawn as the address says. */
import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState, type ReactElement } from "react";
import { curvesProgram } from "@/base/programs";
import { FullChart } from "@/charts/curve_chart";
import { ChartGroup, ChartGroupProvider } from "@/charts/group";
import { useReadAgain } from "@/pages/run/charts/again";
import { PINS_MAX, settingsOf, type ChartsAddress } from "@/pages/run/charts/address";
import {
  chartsOf,
  matching,
  movedPin,
  tellingLabels,
  withPinsFirst,
} from "@/pages/run/charts/charts";
import classes from "@/pages/run/charts/charts.module.css";
import { Grid } from "@/pages/run/charts/grid";
import { storedPins, storePins } from "@/pages/run/charts/pins";
import { Toolbar } from "@/pages/run/charts/toolbar";
import { isLive, type Run } from "@/state/run";
import { seriesName, seriesQuery, type Series } from "@/state/series";
import { Answer } from "@/widgets/answer";
import { Empty } from "@/widgets/empty";

const route = getRouteApi("/runs/$run");
/** The address follows a zoom when it has come to rest. */
const REST_MS = 300;

export function ChartsTab(props: { run: Run }): ReactElement {
  const { run } = props;
  const series = useQuery(seriesQuery(run.id));
  useReadAgain(run);
  return (
    <Answer found={series} waiting={<Waiting />}>
      {(known) => <Charts run={run} series={known} />}
    </Answer>
  );
}

function Charts(props: { run: Run; series: readonly Series[] }): ReactElement {
  const { run, series } = props;
  const address = route.useSearch();
  const navigate = route.useNavigate();
  const { attempt, by, charts: looked = "", full } = address;
  const change = (changes: ChartsAddress): void => {
    void navigate({
      search: (previous) => ({ ...previous, ...changes }),
      replace: true,
      resetScroll: false,
    });
  };
  const pins = usePins(run.project, address.pins, change);
  const group = useZoomOfAddress(address.zoom, change);
  const all = useMemo(
    () => chartsOf(series, { run: run.id, attempt: attempt ?? null, by: by ?? null }),
    [series, run.id, attempt, by],
  );
  const found = useMemo(
    () => withPinsFirst(matching(all, looked), pins.keys),
    [all, looked, pins.keys],
  );
  const axes = useMemo(
    () => series.filter((one) => !one.is_scalar).map((one) => seriesName(one)),
    [series],
  );
  const labels = useMemo(() => tellingLabels(series), [series]);
  const { x, logx, logy, smooth, clip } = address;
  const settings = useMemo(
    () =>
      settingsOf({
        ...(x === undefined ? {} : { x }),
        ...(logx === undefined ? {} : { logx }),
        ...(logy === undefined ? {} : { logy }),
        ...(smooth === undefined ? {} : { smooth }),
        ...(clip === undefined ? {} : { clip }),
      }),
    [x, logx, logy, smooth, clip],
  );
  const shown = all.find(({ key }) => key === full);
  if (all.length === 0) return <NoCharts run={run} scalars={series.length} />;
  return (
    <ChartGroupProvider value={group}>
      <Toolbar
        {...{ address, axes, labels, found: found.length, total: all.length }}
        onChange={change}
      />
      {found.length === 0 ? (
        <p className={classes.hint}>No key has “{looked}” in it or in its labels.</p>
      ) : (
        <Grid
          charts={found}
          settings={settings}
          pins={pins.keys}
          onPin={pins.toggle}
          onMove={pins.move}
          onFull={(key) => {
            change({ full: key });
          }}
        />
      )}
      {shown !== undefined && (
        <FullChart
          name={shown.key}
          lines={shown.lines}
          settings={settings}
          onClose={() => {
            change({ full: undefined });
          }}
        />
      )}
    </ChartGroupProvider>
  );
}

/** The pins of the address; without any, the viewer's own, which then stand in it. */
function usePins(
  project: string,
  known: readonly string[] | undefined,
  change: (changes: ChartsAddress) => void,
) {
  const [stored] = useState(() => storedPins(project));
  const keys = known ?? stored;
  const keep = (pins: readonly string[]): void => {
    storePins(project, pins);
    change({ pins });
  };
  return {
    keys,
    toggle: (key: string): void => {
      keep(
        keys.includes(key) ? keys.filter((one) => one !== key) : [...keys, key].slice(-PINS_MAX),
      );
    },
    move: (key: string, by: -1 | 1): void => {
      keep(movedPin(keys, key, by));
    },
  };
}

/** A group of charts whose zoom is the one of the address, and gets into it. */
function useZoomOfAddress(
  zoom: readonly [number, number] | undefined,
  change: (changes: ChartsAddress) => void,
): ChartGroup {
  const [group] = useState(() => {
    const made = new ChartGroup();
    made.zoomTo(zoom ?? null);
    return made;
  });
  const write = useRef(change);
  useEffect(() => {
    write.current = change;
  });
  const [from, to] = zoom ?? [];
  useEffect(() => {
    group.zoomTo(from === undefined || to === undefined ? null : [from, to]);
  }, [group, from, to]);
  useEffect(() => {
    let timer: number | undefined;
    group.reportTo((seen) => {
      window.clearTimeout(timer);
      timer = window.setTimeout(() => {
        write.current({ zoom: seen ?? undefined });
      }, REST_MS);
    });
    return () => {
      window.clearTimeout(timer);
      group.reportTo(null);
    };
  }, [group]);
  return group;
}

function NoCharts(props: { run: Run; scalars: number }): ReactElement {
  const { run, scalars } = props;
  if (scalars > 0) {
    return (
      <Empty title="No curves">
        All {scalars} series of this run are single values: they stand in Overview.
      </Empty>
    );
  }
  return (
    <Empty
      title={isLive(run) ? "No values yet" : "This run logged no values"}
      code={curvesProgram(run.project)}
    >
      {isLive(run) ? "Curves appear here as they are logged." : "Log some, and they appear here."}
    </Empty>
  );
}

function Waiting(): ReactElement {
  return (
    <div aria-busy="true" aria-label="The charts are loading">
      <Skeleton height={30} mb={12} />
      <Skeleton height={348} />
    </div>
  );
}
