/** One experiment: what it is about, and its runs as a table with views of its own. */
import { Button, Group, Skeleton, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useCallback, useState, type ReactElement } from "react";
import { ApiError } from "@/api/client";
import { counted } from "@/base/counts";
import { experimentProgram } from "@/base/programs";
import { ExperimentActions } from "@/pages/experiments/actions";
import { changeExperiment } from "@/pages/experiments/data";
import { DeleteDialog } from "@/pages/experiments/dialogs";
import classes from "@/pages/experiments/experiments.module.css";
import type { Experiment } from "@/pages/experiments/order";
import { useOwnProject } from "@/pages/own_project";
import { changedSearch, type RunsChange } from "@/pages/runs/address";
import { SavedViews } from "@/pages/runs/saved_views";
import { RunsView } from "@/pages/runs/view";
import { sessionQuery } from "@/state/queries";
import { useRefresh } from "@/state/refresh";
import { mayWrite } from "@/state/rights";
import { experimentQuery } from "@/state/run";
import { Answer } from "@/widgets/answer";
import { EditableMarkdown } from "@/widgets/editable_markdown";
import { Empty } from "@/widgets/empty";
import { Moment } from "@/widgets/moment";
import { PageHead } from "@/widgets/page_head";
import { SidePart } from "@/widgets/shell_parts";
import { useTitle } from "@/widgets/title";

const route = getRouteApi("/experiments/$experiment");

export function ExperimentPage(): ReactElement {
  const { experiment: id } = route.useParams();
  const found = useQuery({ ...experimentQuery(id), staleTime: 0 });
  useOwnProject(found.data?.project);
  useTitle(found.data?.name, "Experiment");
  if (found.error instanceof ApiError && found.error.status === 404) {
    return (
      <Empty title="There is no such experiment">
        It was deleted, or you have no role in its project. <Back />
      </Empty>
    );
  }
  return (
    <Answer key={id} found={found} waiting={<Waiting />}>
      {(experiment) => <Shown experiment={experiment} />}
    </Answer>
  );
}

function Waiting(): ReactElement {
  return (
    <div className={classes.section} role="status" aria-busy="true" aria-label="Loading">
      <Skeleton height={24} width={320} mb={16} />
      <Skeleton height={64} mb={16} />
      <Skeleton height={320} />
    </div>
  );
}

function Back(): ReactElement {
  return (
    <Link to="/experiments" className={classes.back}>
      All experiments
    </Link>
  );
}

function Shown(props: { experiment: Experiment }): ReactElement {
  const { experiment } = props;
  const session = useQuery(sessionQuery);
  const navigate = useNavigate();
  const mayChange = mayWrite(session.data, experiment.project);
  const [isRenaming, setRenaming] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  // The table follows its runs by itself. What may be gone in a moment is not read anew.
  useRefresh(experiment.project, isDeleting ? [] : [["experiment", experiment.id]]);
  return (
    <div className={classes.page}>
      <PageHead
        title={
          isRenaming ? (
            <NameForm
              experiment={experiment}
              onEnd={() => {
                setRenaming(false);
              }}
            />
          ) : (
            <>
              {experiment.name}
              {experiment.archived !== null && <span className={classes.badge}>archived</span>}
            </>
          )
        }
        said={
          <>
            {counted(experiment.runs, "run")}
            {experiment.runs_active > 0 && `, ${String(experiment.runs_active)} active`}
            {experiment.last_activity !== null && (
              <>
                , last activity <Moment at={experiment.last_activity} />
              </>
            )}
          </>
        }
      >
        <Back />
        {mayChange && (
          <ExperimentActions
            experiment={experiment}
            onRename={() => {
              setRenaming(true);
            }}
            onDelete={() => {
              setDeleting(true);
            }}
          />
        )}
      </PageHead>
      <section className={classes.description} aria-label="Description">
        <EditableMarkdown
          text={experiment.description}
          label="Description"
          mayEdit={mayChange}
          empty="Add a description: what is tried, and why"
          onSave={async (description) => {
            await changeExperiment(experiment, { description });
          }}
        />
      </section>
      <Runs experiment={experiment} />
      <DeleteDialog
        experiment={isDeleting ? experiment : null}
        onClose={() => {
          setDeleting(false);
        }}
        onDeleted={() => {
          void navigate({ to: "/experiments", search: { project: experiment.project } });
        }}
      />
    </div>
  );
}

function Runs(props: { experiment: Experiment }): ReactElement {
  const { id, name, project } = props.experiment;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const onSearch = useCallback(
    (change: RunsChange) => {
      void navigate({
        search: (before) => changedSearch(before, change),
        replace: "chosen" in change,
      });
    },
    [navigate],
  );
  return (
    <section className={classes.runs} aria-label="Runs of the experiment">
      <SidePart>
        <SavedViews project={project} experiment={id} search={search} onSearch={onSearch} />
      </SidePart>
      <RunsView
        key={id}
        project={project}
        search={search}
        onSearch={onSearch}
        scope={`experiment = "${id}"`}
        empty={
          <Empty title="It has no runs yet" code={experimentProgram(project, name)}>
            Choose runs in the table of all runs and move them here, or let the program do so that
            logs them.
          </Empty>
        }
      />
    </section>
  );
}

function NameForm(props: { experiment: Experiment; onEnd: () => void }): ReactElement {
  const { experiment, onEnd } = props;
  const [name, setName] = useState(experiment.name);
  const [error, setError] = useState<string | null>(null);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        changeExperiment(experiment, { name: name.trim() })
          .then(onEnd)
          .catch((refused: unknown) => {
            setError(refused instanceof Error ? refused.message : String(refused));
          });
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onEnd();
      }}
    >
      <Group gap={8} align="flex-start">
        <TextInput
          className={classes.name}
          aria-label="Name"
          required
          maxLength={200}
          autoFocus
          value={name}
          error={error}
          onChange={(event) => {
            setName(event.currentTarget.value);
          }}
        />
        <Button type="submit">Rename</Button>
        <Button variant="default" onClick={onEnd}>
          Cancel
        </Button>
      </Group>
    </form>
  );
}
