/** One experiment: what it is about, its saved views, its runs. */
import { Button, Group, Skeleton, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { ApiError } from "@/api/client";
import { ExperimentActions } from "@/pages/experiments/actions";
import { changeExperiment, viewsQuery } from "@/pages/experiments/data";
import { DeleteDialog } from "@/pages/experiments/dialogs";
import classes from "@/pages/experiments/experiments.module.css";
import type { Experiment } from "@/pages/experiments/order";
import { ExperimentRuns, runsKey } from "@/pages/experiments/runs";
import { counted } from "@/pages/experiments/words";
import { sessionQuery } from "@/state/queries";
import { useRefresh } from "@/state/refresh";
import { mayWrite } from "@/state/rights";
import { experimentQuery } from "@/state/run";
import { Answer } from "@/widgets/answer";
import { ConnectionMark } from "@/widgets/connection";
import { EditableMarkdown } from "@/widgets/editable_markdown";
import { Empty } from "@/widgets/empty";
import { Failure } from "@/widgets/failure";
import { Moment } from "@/widgets/moment";
import { PageHead } from "@/widgets/page_head";

const route = getRouteApi("/experiments/$experiment");

export function ExperimentPage(): ReactElement {
  const { experiment: id } = route.useParams();
  const found = useQuery({ ...experimentQuery(id), staleTime: 0 });
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
  const connection = useRefresh(experiment.project, [
    ["experiment", experiment.id],
    runsKey(experiment),
  ]);
  const [isRenaming, setRenaming] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  return (
    <>
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
        <ConnectionMark state={connection} />
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
      <section className={classes.section} aria-label="Description">
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
      <Views experiment={experiment} />
      <ExperimentRuns experiment={experiment} />
      <DeleteDialog
        experiment={isDeleting ? experiment : null}
        onClose={() => {
          setDeleting(false);
        }}
        onDeleted={() => {
          void navigate({ to: "/experiments", search: { project: experiment.project } });
        }}
      />
    </>
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

function Views(props: { experiment: Experiment }): ReactElement | null {
  const { experiment } = props;
  const views = useQuery(viewsQuery(experiment));
  if (views.error && !views.data) {
    return (
      <section className={classes.section} aria-label="Saved views">
        <Failure error={views.error} onRetry={() => void views.refetch()} />
      </section>
    );
  }
  if (!views.data || views.data.length === 0) return null;
  return (
    <section className={classes.section}>
      <h2>Saved views</h2>
      <ul className={classes.views}>
        {views.data.map((view) => (
          <li key={view.id}>
            <Link to="/runs" search={viewSearch(experiment.project, view)}>
              {view.name}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A view is a search of the table of runs. */
function viewSearch(
  project: string,
  view: { filter: string; sort: string },
): { project: string; filter?: string; sort?: string } {
  return {
    project,
    ...(view.filter === "" ? {} : { filter: view.filter }),
    ...(view.sort === "" ? {} : { sort: view.sort }),
  };
}
