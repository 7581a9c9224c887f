/** The parts of a comparison, one below the other. */
import { VisuallyHidden } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import { useMemo, useState, type ReactElement } from "react";
import { visitColours } from "@/charts/line_colours";
import type { CompareSearch } from "@/pages/compare/address";
import { ColumnsProvider, RunHeads } from "@/pages/compare/columns";
import classes from "@/pages/compare/compare.module.css";
import type { Comparison } from "@/pages/compare/data";
import { CurvesSection } from "@/pages/compare/curves";
import { EnvironmentSection } from "@/pages/compare/environment";
import { MediaSection } from "@/pages/compare/media";
import { calledRuns } from "@/pages/compare/names";
import { NotesSection } from "@/pages/compare/notes";
import { PlotsSection } from "@/pages/compare/plots/section";
import { RunsTable } from "@/pages/compare/runs_table";
import { ScrollGroup, ScrollGroupProvider } from "@/pages/compare/scrolling";
import { SummariesSection } from "@/pages/compare/summaries_table";
import { ValuesSection } from "@/pages/compare/values_table";
import { experimentQuery, type Run } from "@/state/run";
import { Boundary } from "@/widgets/boundary";

export function Sections(props: {
  comparison: Comparison;
  known: ReadonlyMap<string, Run>;
  search: CompareSearch;
  change: (part: Partial<CompareSearch>) => void;
  onRemove: (run: string) => void;
}): ReactElement {
  const { comparison, known, search, change, onRemove } = props;
  const { runs } = comparison;
  const columns = useMemo(() => {
    const colourOf = visitColours(
      "run",
      runs.map(({ id }) => id),
    );
    const called = calledRuns(runs);
    return runs.map((run, at) => ({
      run,
      colour: colourOf(run.id),
      ...(called[at] ?? { name: run.id, ending: "" }),
    }));
  }, [runs]);
  const [group] = useState(() => new ScrollGroup());
  const isAllShown = search.all === true;
  const part = search.q ?? "";
  const about = { isAllShown, part };
  return (
    <ColumnsProvider value={columns}>
      <ScrollGroupProvider value={group}>
        <RunHeads onRemove={onRemove} />
        <section className={classes.first}>
          <VisuallyHidden component="h2">Runs</VisuallyHidden>
          <RunsTable facts={known} experiments={useExperimentNames(known)} />
        </section>
        <Boundary>
          <ValuesSection
            title="Params"
            rows={comparison.params}
            none="The runs have no params."
            {...about}
          />
          <SummariesSection
            series={comparison.series}
            stat={search.stat ?? "last"}
            best={search.best ?? []}
            {...about}
            onStat={(stat) => {
              change({ stat: stat === "last" ? undefined : stat });
            }}
            onBest={(best) => {
              change({ best });
            }}
          />
        </Boundary>
        <Boundary>
          <CurvesSection
            series={comparison.series}
            part={part}
            axis={search.x ?? "step"}
            isLog={search.logy === true}
            onAxis={(axis) => {
              change({ x: axis === "step" ? undefined : axis });
            }}
            onLog={(isLog) => {
              change({ logy: isLog ? true : undefined });
            }}
          />
        </Boundary>
        <Boundary>
          <PlotsSection
            comparison={comparison}
            choice={search}
            onChoice={({ plot, axes, log }) => {
              change({ plot, axes, log });
            }}
          />
        </Boundary>
        <Boundary>
          <MediaSection
            media={comparison.media ?? []}
            chosen={search.media}
            step={search.step}
            onChoose={(media) => {
              change({ media, step: undefined });
            }}
            onStep={(step) => {
              change({ step });
            }}
          />
        </Boundary>
        <Boundary>
          <NotesSection facts={known} />
          <ValuesSection
            title="Tags"
            rows={comparison.tags}
            none="The runs have no tags."
            {...about}
          />
          <EnvironmentSection {...about} />
        </Boundary>
        {comparison.is_partial === true && (
          <p className={`${classes.padded} ${classes.missing}`}>
            The runs have more series or media than one answer holds: not all of them are shown.
          </p>
        )}
      </ScrollGroupProvider>
    </ColumnsProvider>
  );
}

function useExperimentNames(known: ReadonlyMap<string, Run>): ReadonlyMap<string, string> {
  const ids = [...new Set([...known.values()].flatMap(({ experiment }) => experiment ?? []))];
  const found = useQueries({ queries: ids.map(experimentQuery) });
  return new Map(found.flatMap(({ data }) => (data === undefined ? [] : [[data.id, data.name]])));
}
