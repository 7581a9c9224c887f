/** One chart of curves: the drawing, its legend, and what it has to say of what it cannot show. */
import { ActionIcon, Modal, Skeleton, useComputedColorScheme } from "@mantine/core";
import { useViewportSize } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMemo, useRef, useState, type ReactElement, type ReactNode } from "react";
import { ChartMenu } from "@/charts/chart_menu";
import classes from "@/charts/curve_chart.module.css";
import { useCurves, type LineSource, type LoadedLine } from "@/charts/following";
import { useChartGroup, useSeen } from "@/charts/group";
import { Legend } from "@/charts/legend";
import { useNearness } from "@/charts/near";
import { NumbersTable } from "@/charts/numbers_table";
import { drawnLines, notesOf, pictureOf, viewOf, wholeExtent } from "@/charts/picture";
import { Plot, useColours } from "@/charts/plot";
import { csvFile, fileName, pngFile, save, sheetOf, svgFile } from "@/charts/saving";
import type { Range } from "@/charts/scales";
import type { ChartSettings } from "@/charts/settings";
import { useShown } from "@/charts/shown";
import { symbols } from "@/charts/symbols";

interface CurveChartProps {
  /** The key of the metric; what it ends with says the unit. */
  readonly name: string;
  /** Its lines; all of them stand in the legend, the first ones are drawn. */
  readonly lines: readonly LineSource[];
  readonly settings: ChartSettings;
  /** Pixels of the drawing; by default 200. */
  readonly height?: number;
  /** Hears that the chart is to fill the window; without it, it does so by itself. */
  readonly onFull?: () => void;
  /** What stands beside the name: pin, move. */
  readonly actions?: ReactNode;
}

const HEIGHT = 200;

export function CurveChart(props: CurveChartProps): ReactElement {
  const { name, onFull } = props;
  const host = useRef<HTMLElement>(null);
  const { isNear, width } = useNearness(host);
  const [isFull, setIsFull] = useState(false);
  return (
    <figure ref={host} className={classes.chart} aria-label={name}>
      {isNear ? (
        <Content
          {...props}
          height={props.height ?? HEIGHT}
          width={width}
          onFull={
            onFull ??
            (() => {
              setIsFull(true);
            })
          }
        />
      ) : (
        <Heading name={name} />
      )}
      {isFull && (
        <FullChart
          {...props}
          onClose={() => {
            setIsFull(false);
          }}
        />
      )}
    </figure>
  );
}

/** What stands around the drawing of a chart that fills the window. */
const AROUND_FULL = 280;

/** A chart that fills the window. */
export function FullChart(
  props: Pick<CurveChartProps, "name" | "lines" | "settings"> & { onClose: () => void },
): ReactElement {
  const { name, lines, settings, onClose } = props;
  const { width, height } = useViewportSize();
  return (
    <Modal
      opened
      onClose={onClose}
      fullScreen
      lockScroll={false}
      title={name}
      closeButtonProps={{ "aria-label": "Close" }}
      classNames={{ content: classes.fullContent ?? "", body: classes.full ?? "" }}
    >
      {width > 0 && (
        <Content
          {...{ name, lines, settings, width }}
          height={Math.max(240, height - AROUND_FULL)}
          onFull={null}
        />
      )}
    </Modal>
  );
}

function Heading(props: { name: string; children?: ReactNode }): ReactElement {
  return (
    <div className={classes.heading}>
      {props.name === "" ? (
        <span className={classes.name} />
      ) : (
        <h2 className={classes.name} title={props.name}>
          {props.name}
        </h2>
      )}
      {props.children}
    </div>
  );
}

interface ContentProps extends Omit<CurveChartProps, "onFull"> {
  height: number;
  /** About as many pixels the drawing is wide. */
  width: number;
  /** Null: it does already. */
  onFull: (() => void) | null;
}

function Content(props: ContentProps): ReactElement {
  const { name, lines, settings, height, width, actions, onFull } = props;
  const group = useChartGroup();
  const seen = useSeen(group);
  const scheme = useComputedColorScheme("light");
  const colours = useColours();
  const { shown, isShown, toggle, only } = useShown(lines, { group, name });
  const [focus, setFocus] = useState<string | null>(null);
  const [isTable, setIsTable] = useState(false);
  const loaded = useCurves(shown, { axis: settings.axis, seen, buckets: bucketsFor(width) });
  const look = useMemo(() => ({ settings, seen, scheme, focus }), [settings, seen, scheme, focus]);
  const drawn = useMemo(() => drawnLines(loaded, look), [loaded, look]);
  const view = useMemo(() => viewOf(drawn, look), [drawn, look]);
  const picture = useMemo(
    () => (view === null ? null : pictureOf(drawn, view, { settings, name, colours })),
    [drawn, view, settings, name, colours],
  );
  const notes = useMemo(() => notesOf(drawn, view), [drawn, view]);
  const whole = useMemo<Range>(
    () =>
      wholeExtent(
        drawn.map(({ data }) => data),
        settings.isLogX,
      ) ?? [0, 1],
    [drawn, settings.isLogX],
  );
  const failure = loaded.find(({ error }) => error !== null && error !== undefined);
  const isLoading = loaded.some((line) => line.isLoading);
  const isWaiting = loaded.some(({ data, error }) => data === null && !error);
  const noteText = [notes.points, ...notes.missing].join(" · ");

  return (
    <>
      <Heading name={onFull === null ? "" : name}>
        {isLoading && <span className={classes.busy} role="status" aria-label="Loading points" />}
        {seen !== null && (
          <ActionIcon
            size="sm"
            aria-label="Show all"
            title="Show all (0)"
            onClick={() => {
              group.zoomTo(null);
            }}
          >
            {symbols.all}
          </ActionIcon>
        )}
        {actions}
        <ChartMenu
          onFull={onFull}
          onTable={() => {
            setIsTable(true);
          }}
          onPicture={(form) => {
            if (picture === null) return;
            const sheet = sheetOf(picture, drawn, { title: name, notes: noteText });
            attempt(async () => {
              const file = form === "svg" ? svgFile(sheet) : await pngFile(sheet);
              save(file, fileName(name, form));
            });
          }}
          onCsv={() => {
            attempt(async () => {
              save(await csvFile(shown), fileName(name, "csv"));
            });
          }}
        />
      </Heading>
      {picture !== null && view !== null ? (
        <Plot
          {...{ name, axis: settings.axis, lines: drawn, view, picture, whole, height, group }}
        />
      ) : (
        <Instead {...{ height, isWaiting, failure }} hasLines={shown.length > 0} />
      )}
      <p className={classes.notes} title={noteText}>
        {/* Nobody knows yet how many there are. */}
        {(drawn.length > 0 || !isWaiting) && <span>{notes.points}</span>}
        {notes.missing.map((text) => (
          <span key={text} className={classes.missing}>
            {text}
          </span>
        ))}
        {lines.length > shown.length && (
          <span>
            {shown.length} of {lines.length} lines
          </span>
        )}
      </p>
      <div className={classes.legend}>
        <Legend
          {...{ lines, isShown, onToggle: toggle, onOnly: only, onFocus: setFocus }}
          failureOf={(id) => failureText(loaded, id)}
        />
      </div>
      {isTable && view !== null && (
        <NumbersTable
          title={name}
          axis={settings.axis}
          lines={drawn}
          seen={[view.xScale.from(view.x[0]), view.xScale.from(view.x[1])]}
          isOpen
          onClose={() => {
            setIsTable(false);
          }}
        />
      )}
    </>
  );
}

/** What stands where no line can be drawn. */
function Instead(props: {
  height: number;
  isWaiting: boolean;
  hasLines: boolean;
  failure: LoadedLine | undefined;
}): ReactElement {
  const { height, isWaiting, hasLines, failure } = props;
  if (hasLines && isWaiting) return <Skeleton height={height} />;
  const text = !hasLines
    ? "All lines are hidden: click one below."
    : failure === undefined
      ? "There is nothing to draw on these axes."
      : messageOf(failure.error);
  return (
    <div className={classes.instead} style={{ height }} role={failure ? "alert" : undefined}>
      {text}
    </div>
  );
}

/** What stands beside the drawing: its axis and the edges. */
const BESIDE = 64;

/** At least one bucket a pixel; few sizes, so that a little more width asks nothing anew. */
function bucketsFor(width: number): number {
  const drawing = width - BESIDE;
  return drawing <= 500 ? 500 : drawing <= 1_000 ? 1_000 : 2_000;
}

function failureText(loaded: readonly LoadedLine[], id: string): string | null {
  const line = loaded.find(({ source }) => source.id === id);
  return line?.error === null || line?.error === undefined ? null : messageOf(line.error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Does something that may fail after a click; then the reader hears of it. */
function attempt(action: () => Promise<void>): void {
  action().catch((error: unknown) => {
    notifications.show({ color: "red", title: "That did not work", message: messageOf(error) });
  });
}
