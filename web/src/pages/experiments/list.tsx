/** The list of experiments. */
import { Button, SegmentedControl, Skeleton, UnstyledButton } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { wholeNumber } from "@/base/numbers";
import { experimentProgram } from "@/base/programs";
import { keepProject, withoutNothing } from "@/pages/address";
import { ExperimentActions } from "@/pages/experiments/actions";
import { experimentsQuery } from "@/pages/experiments/data";
import { DeleteDialog, MakeDialog } from "@/pages/experiments/dialogs";
import classes from "@/pages/experiments/experiments.module.css";
import {
  nextSort,
  ordered,
  sortFromText,
  type Experiment,
  type Sort,
  type SortField,
} from "@/pages/experiments/order";
import { isNoProject, NoProject } from "@/pages/no_project";
import { chosenProject, projectsQuery } from "@/state/projects";
import { sessionQuery } from "@/state/queries";
import { useRefresh } from "@/state/refresh";
import { mayWrite } from "@/state/rights";
import { Answer } from "@/widgets/answer";
import { ConnectionMark } from "@/widgets/connection";
import { Empty } from "@/widgets/empty";
import { Moment } from "@/widgets/moment";
import { PageHead } from "@/widgets/page_head";
import { QuietHead, Rows, rows } from "@/widgets/rows";
import { SearchBox } from "@/widgets/search_box";
import { useTitle } from "@/widgets/title";

const route = getRouteApi("/experiments");

export function ExperimentsPage(): ReactElement {
  const { project: asked, q = "", show = "open", sort } = route.useSearch();
  const navigate = useNavigate({ from: "/experiments" });
  const go = useNavigate();
  const session = useQuery(sessionQuery);
  const projects = useQuery(projectsQuery);
  const project = projects.data ? chosenProject(asked, projects.data) : null;
  useTitle("Experiments", project);
  const found = useInfiniteQuery(experimentsQuery(project, show));
  const connection = useRefresh(project, [["experiments", project]]);
  const [isMaking, setMaking] = useState(false);
  const [doomed, setDoomed] = useState<Experiment | null>(null);
  const mayChange = mayWrite(session.data, project);
  const all = found.data?.pages.flatMap((page) => page.experiments);
  const shown = all && ordered(all, sortFromText(sort), q);
  return (
    <>
      <PageHead title="Experiments" said={all && count(all.length, found.hasNextPage)}>
        <ConnectionMark state={connection} />
        <SearchBox
          className={classes.filter}
          label="Find by name"
          placeholder="Find by name"
          value={q}
          onSeek={(text) => {
            void navigate({
              replace: true,
              search: (previous) =>
                withoutNothing({ ...previous, q: text === "" ? undefined : text }),
            });
          }}
        />
        <SegmentedControl
          aria-label="Which experiments"
          value={show}
          data={[
            { value: "open", label: "Open" },
            { value: "archived", label: "Archived" },
            { value: "all", label: "All" },
          ]}
          onChange={(wanted) => {
            void navigate({
              search: (previous) =>
                withoutNothing({ ...previous, show: wanted === "open" ? undefined : wanted }),
            });
          }}
        />
        {mayChange && (
          <Button
            onClick={() => {
              setMaking(true);
            }}
          >
            New experiment
          </Button>
        )}
      </PageHead>
      <Answer
        key={`${String(project)} ${show}`}
        found={projects.data === undefined ? { ...projects, data: undefined } : found}
        waiting={<Waiting />}
        refused={(error) =>
          project !== null && isNoProject(error) ? (
            <NoProject project={project} onThere={() => void found.refetch()} />
          ) : null
        }
      >
        {() =>
          shown === undefined || shown.length === 0 ? (
            <Nothing isSearch={q !== ""} show={show} project={project} />
          ) : (
            <ExperimentRows
              {...{ shown, mayChange }}
              sort={sortFromText(sort)}
              onSort={(wanted) => {
                void navigate({ search: (previous) => ({ ...previous, sort: wanted }) });
              }}
              onDelete={setDoomed}
            />
          )
        }
      </Answer>
      {found.hasNextPage && (
        <Button
          variant="default"
          m={12}
          loading={found.isFetchingNextPage}
          onClick={() => void found.fetchNextPage()}
        >
          Show more
        </Button>
      )}
      {project !== null && (
        <MakeDialog
          project={project}
          isOpen={isMaking}
          onClose={() => {
            setMaking(false);
          }}
          onMade={({ id }) => {
            setMaking(false);
            void go({
              to: "/experiments/$experiment",
              params: { experiment: id },
              search: { project },
            });
          }}
        />
      )}
      <DeleteDialog
        experiment={doomed}
        onClose={() => {
          setDoomed(null);
        }}
        onDeleted={() => {
          setDoomed(null);
        }}
      />
    </>
  );
}

function count(shown: number, hasMore: boolean): string {
  return hasMore ? `the newest ${wholeNumber(shown)}` : wholeNumber(shown);
}

function Waiting(): ReactElement {
  return (
    <div className={classes.section} role="status" aria-busy="true" aria-label="Loading">
      {Array.from({ length: 8 }, (_, at) => (
        <Skeleton key={at} height={16} my={16} />
      ))}
    </div>
  );
}

function Nothing(props: { isSearch: boolean; show: string; project: string | null }): ReactElement {
  const { project } = props;
  if (props.isSearch) {
    return <Empty title="No experiment has that in its name">Take a part of it away.</Empty>;
  }
  if (props.show === "archived") {
    return (
      <Empty title="Nothing is archived">
        An experiment that is archived takes no new runs, and can be read as before.
      </Empty>
    );
  }
  return (
    <Empty
      title="There is no experiment yet"
      {...(project === null ? {} : { code: experimentProgram(project, "learning rates") })}
    >
      An experiment is a named group of runs. Make one here and move runs into it from the table of
      runs, or let the program do so that logs them.
    </Empty>
  );
}

const HEADS: readonly {
  field: SortField;
  label: string;
  isNumber?: boolean;
  isWideOnly?: boolean;
}[] = [
  { field: "name", label: "Name" },
  { field: "runs", label: "Runs", isNumber: true },
  { field: "activity", label: "Last activity" },
  { field: "created", label: "Created", isWideOnly: true },
];

function ExperimentRows(props: {
  shown: Experiment[];
  mayChange: boolean;
  sort: Sort;
  onSort: (sort: string) => void;
  onDelete: (experiment: Experiment) => void;
}): ReactElement {
  const { shown, mayChange, sort, onSort, onDelete } = props;
  return (
    <Rows label="Experiments">
      <thead>
        <tr>
          {HEADS.map(({ field, label, isNumber, isWideOnly }) => (
            <th
              key={field}
              scope="col"
              className={
                isNumber === true ? rows.number : isWideOnly === true ? rows.roomy : undefined
              }
              aria-sort={
                sort.field !== field ? undefined : sort.isDescending ? "descending" : "ascending"
              }
            >
              <UnstyledButton
                className={rows.sort}
                onClick={() => {
                  onSort(nextSort(sort, field));
                }}
              >
                {label}
                <span aria-hidden="true">
                  {sort.field !== field ? "" : sort.isDescending ? " ↓" : " ↑"}
                </span>
              </UnstyledButton>
            </th>
          ))}
          {mayChange && <QuietHead label="Actions" />}
        </tr>
      </thead>
      <tbody>
        {shown.map((experiment) => (
          <tr key={experiment.id}>
            <th scope="row" className={rows.wide} title={experiment.name}>
              <Link
                to="/experiments/$experiment"
                params={{ experiment: experiment.id }}
                search={keepProject}
              >
                {experiment.name}
              </Link>
              {experiment.archived !== null && <span className={classes.badge}>archived</span>}
            </th>
            <td className={rows.number}>
              {experiment.runs_active > 0 && (
                <span className={classes.active}>
                  {wholeNumber(experiment.runs_active)} active of{" "}
                </span>
              )}
              {wholeNumber(experiment.runs)}
            </td>
            <td>
              <Moment at={experiment.last_activity} />
            </td>
            <td className={`${rows.dim} ${rows.roomy}`}>
              <Moment at={experiment.created} isExact />
            </td>
            {mayChange && (
              <td className={rows.actions}>
                <ExperimentActions
                  experiment={experiment}
                  onDelete={() => {
                    onDelete(experiment);
                  }}
                />
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </Rows>
  );
}
