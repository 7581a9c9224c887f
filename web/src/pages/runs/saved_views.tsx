/** The saved views of a project, or of one of its experiments, in the side bar. */
import { ActionIcon, Button, Menu, Skeleton, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { ApiError } from "@/api/client";
import { isNoProject } from "@/pages/no_project";
import type { RunsChange, RunsSearch } from "@/pages/runs/address";
import { shownColumns } from "@/pages/runs/columns";
import classes from "@/pages/runs/saved_views.module.css";
import { parsedQuery } from "@/state/parsing";
import {
  changeView,
  deleteView,
  saveView,
  type View,
  type ViewContent,
  viewsQuery,
} from "@/state/views";
import { tell } from "@/widgets/notice";

interface ViewsProps {
  project: string;
  /** Without it the views are the project's. */
  experiment?: string;
  search: RunsSearch;
  onSearch: (change: RunsChange) => void;
}

/** What a page shows, as a view keeps it. */
function contentOf(search: RunsSearch): ViewContent {
  return {
    filter: search.filter ?? "",
    sort: search.sort ?? "",
    columns: search.columns === undefined ? "" : shownColumns(search.columns).join(", "),
  };
}

export function SavedViews(props: ViewsProps): ReactElement {
  const { project, experiment, search, onSearch } = props;
  const client = useQueryClient();
  const views = useQuery(viewsQuery({ project, experiment }));
  const [isNaming, setIsNaming] = useState(false);
  const [renamed, setRenamed] = useState<string | null>(null);

  const open = async (view: View): Promise<void> => {
    // What a list of columns says, only the server reads.
    const parsed = await client.query(
      parsedQuery({ project, columns: view.columns, caret: 0, completing: "columns" }),
    );
    onSearch({
      view: view.id,
      filter: view.filter === "" ? undefined : view.filter,
      sort: view.sort === "" ? undefined : view.sort,
      columns: parsed.columns.length === 0 ? undefined : parsed.columns,
      trash: undefined,
      group: undefined,
    });
  };

  return (
    <section className={classes.part} aria-label="Saved views">
      <div className={classes.head}>
        <h2 className={classes.title}>Saved views</h2>
        <ActionIcon
          size="sm"
          aria-label="Save what is shown as a view"
          title="Save what is shown as a view"
          aria-expanded={isNaming}
          onClick={() => {
            setIsNaming(!isNaming);
          }}
        >
          +
        </ActionIcon>
      </div>
      {isNaming && (
        <NameForm
          label="Name of the view"
          name=""
          action="Save"
          onCancel={() => {
            setIsNaming(false);
          }}
          onName={async (name) => {
            const view = await saveView({ project, experiment }, name, contentOf(search));
            onSearch({ view: view.id });
            setIsNaming(false);
          }}
        />
      )}
      {views.error !== null && !isNoProject(views.error) && (
        <p className={classes.none}>{views.error.message}</p>
      )}
      {views.isPending && <Skeleton height={8} width={120} m={12} />}
      {views.data?.length === 0 && !isNaming && (
        <p className={classes.none}>
          Filter, order and columns under a name, for{" "}
          {experiment === undefined ? "all of the project" : "all who see the experiment"}: + saves
          what is shown.
        </p>
      )}
      <ul className={classes.list}>
        {views.data?.map((view) =>
          renamed === view.id ? (
            <li key={view.id}>
              <NameForm
                label="New name"
                name={view.name}
                action="Rename"
                onCancel={() => {
                  setRenamed(null);
                }}
                onName={async (name) => {
                  await changeView(view, { name });
                  setRenamed(null);
                }}
              />
            </li>
          ) : (
            <li key={view.id} className={classes.item} data-current={search.view === view.id}>
              <button
                type="button"
                className={classes.open}
                title={view.name}
                aria-current={search.view === view.id}
                onClick={() => {
                  attempt("The view could not be opened", () => open(view));
                }}
              >
                <bdi>{view.name}</bdi>
              </button>
              {search.view === view.id && isChanged(view, search) && (
                <span className={classes.changed}>changed</span>
              )}
              <ViewMenu
                view={view}
                onKeep={() => {
                  attempt("The view was not changed", () => changeView(view, contentOf(search)));
                }}
                onRename={() => {
                  setRenamed(view.id);
                }}
                onDelete={() => {
                  attempt("The view was not deleted", () => removed(view, search, onSearch));
                }}
              />
            </li>
          ),
        )}
      </ul>
    </section>
  );
}

async function removed(
  view: View,
  search: RunsSearch,
  onSearch: (change: RunsChange) => void,
): Promise<void> {
  await deleteView(view);
  if (search.view === view.id) onSearch({ view: undefined });
  tell.done(`The view ${view.name} was deleted.`, {
    label: "Undo",
    onClick: () => {
      attempt("The view was not saved again", () =>
        saveView({ ...view, experiment: view.experiment ?? undefined }, view.name, view),
      );
    },
  });
}

function isChanged(view: View, search: RunsSearch): boolean {
  const content = contentOf(search);
  const plain = (text: string): string => text.replaceAll(/\s*,\s*/g, ",").trim();
  return (
    content.filter !== view.filter ||
    content.sort !== view.sort ||
    plain(content.columns) !== plain(view.columns)
  );
}

/** Does something, and tells where it failed. */
function attempt(title: string, work: () => Promise<unknown>): void {
  work().catch((error: unknown) => {
    const isOld = error instanceof ApiError && error.status === 412;
    tell.failure(
      title,
      isOld
        ? new Error("Somebody else has changed it meanwhile. It was read again: try once more.")
        : error instanceof Error
          ? error
          : new Error(String(error)),
    );
  });
}

function ViewMenu(props: {
  view: View;
  onKeep: () => void;
  onRename: () => void;
  onDelete: () => void;
}): ReactElement {
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon size="sm" aria-label={`What to do with ${props.view.name}`}>
          ⋯
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={props.onKeep}>Keep what is shown now</Menu.Item>
        <Menu.Item onClick={props.onRename}>Rename</Menu.Item>
        <Menu.Item color="red" onClick={props.onDelete}>
          Delete for everybody
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function NameForm(props: {
  label: string;
  name: string;
  action: string;
  onName: (name: string) => Promise<void>;
  onCancel: () => void;
}): ReactElement {
  const [name, setName] = useState(props.name);
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault();
        setIsBusy(true);
        props
          .onName(name.trim())
          .catch((failure: unknown) => {
            setError(failure instanceof Error ? failure.message : String(failure));
          })
          .finally(() => {
            setIsBusy(false);
          });
      }}
      onKeyDown={({ key }) => {
        if (key === "Escape") props.onCancel();
      }}
    >
      <TextInput
        autoFocus
        aria-label={props.label}
        placeholder={props.label}
        maxLength={200}
        value={name}
        error={error}
        onChange={({ currentTarget }) => {
          setName(currentTarget.value);
          setError(null);
        }}
      />
      <span className={classes.actions}>
        <Button type="submit" loading={isBusy} disabled={name.trim() === ""}>
          {props.action}
        </Button>
        <Button variant="subtle" onClick={props.onCancel}>
          Cancel
        </Button>
      </span>
    </form>
  );
}
