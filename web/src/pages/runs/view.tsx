/** A table of runs with all that leads it; what it shows stands in an address that its page owns. */
import { Button } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import {
  lazy,
  type ReactElement,
  type ReactNode,
  useCallback,
  useMemo,
  useState,
  Suspense,
} from "react";
import { ApiError } from "@/api/client";
import { counted } from "@/base/counts";
import { textFromIds } from "@/pages/compare/address";
import { isNoProject, NoProject } from "@/pages/no_project";
import type { RunsChange, RunsSearch } from "@/pages/runs/address";
import { Chips } from "@/pages/runs/chips";
import { ColumnsButton } from "@/pages/runs/columns_button";
import { columnsChange } from "@/pages/runs/changing";
import { unseenOf, useChosen } from "@/pages/runs/choosing";
import { looksOf } from "@/pages/runs/columns";
import { askedOf, useRuns } from "@/pages/runs/data";
import { FilterBox } from "@/pages/runs/filter_box";
import { GroupChoice } from "@/pages/runs/group_choice";
import { narrowed } from "@/pages/runs/groups";
import { useLiveRuns } from "@/pages/runs/live";
import { NoRuns } from "@/pages/runs/no_runs";
import { RunsTable } from "@/pages/runs/table";
import classes from "@/pages/runs/view.module.css";
import { WaitingRows } from "@/pages/runs/waiting_rows";
import { ConnectionMark } from "@/widgets/connection";
import { Empty } from "@/widgets/empty";
import { Failure } from "@/widgets/failure";
import { Stale } from "@/widgets/stale";

// What few look at does not wait with the first page.
const ChosenBar = lazy(async () => ({
  default: (await import("@/pages/runs/chosen_bar")).ChosenBar,
}));
const GroupsTable = lazy(async () => ({
  default: (await import("@/pages/runs/groups_table")).GroupsTable,
}));

interface RunsViewProps {
  project: string;
  search: RunsSearch;
  onSearch: (change: RunsChange) => void;
  /** A filter that holds beside the one of the address: the runs of one experiment. */
  scope?: string;
  /** Whether it stands in a page that has a mark of its connection already. */
  isPart?: boolean;
  /** What stands where the scope has no runs at all. */
  empty?: ReactNode;
}

export function RunsView(props: RunsViewProps): ReactElement {
  const { project, search, onSearch, scope, isPart } = props;
  const { filter = "", sort } = search;
  const navigate = useNavigate();
  const asked = useMemo(() => askedOf(project, search, scope), [project, search, scope]);
  const { columns } = asked;
  const looks = useMemo(() => looksOf(columns), [columns]);
  const [isQuiet, setIsQuiet] = useState(true);
  const runs = useRuns(asked);
  const live = useLiveRuns(asked, isQuiet);
  const { chosen, choose } = useChosen(search, onSearch);
  const { fetchNextPage, isFetchingNextPage } = runs;
  const isRead = runs.data !== undefined && !runs.isPlaceholderData;
  const onMore = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, isFetchingNextPage]);
  const rows = useMemo(() => runs.data?.pages.flatMap((page) => page.runs) ?? [], [runs.data]);
  const unseen = useMemo(() => (isRead ? unseenOf(chosen, rows) : []), [isRead, chosen, rows]);
  if (runs.data === undefined && isNoProject(runs.error)) {
    return (
      <div className={classes.failure}>
        <NoProject project={project} onThere={() => void runs.refetch()} />
      </div>
    );
  }
  const first = runs.data?.pages[0];
  const warnings = first?.warnings ?? [];

  return (
    <div className={classes.view}>
      <div className={classes.tools}>
        <FilterBox
          key={project}
          project={project}
          filter={filter}
          onFilter={(next) => {
            onSearch({ filter: next === "" ? undefined : next });
          }}
        />
        <GroupChoice
          project={project}
          by={search.group}
          onBy={(group) => {
            onSearch({ group });
          }}
        />
        <ColumnsButton
          project={project}
          columns={columns}
          onColumns={(next) => {
            onSearch(columnsChange(next));
          }}
        />
        <Button
          variant="default"
          className={classes.tool}
          aria-pressed={asked.isTrash}
          onClick={() => {
            choose([...chosen], false);
            onSearch({ trash: asked.isTrash ? undefined : true, chosen: undefined });
          }}
        >
          {asked.isTrash ? "Leave the trash" : "Trash"}
        </Button>
      </div>
      <div className={classes.facts}>
        <span className={classes.count} role="status">
          {first === undefined ? "" : counted(first.total ?? rows.length, "run")}
          {asked.isTrash ? " in the trash" : ""}
        </span>
        <Chips
          project={project}
          filter={filter}
          onFilter={(next) => {
            onSearch({ filter: next === "" ? undefined : next });
          }}
        />
        {isPart !== true && <ConnectionMark state={live.connection} />}
      </div>
      {warnings.map((warning) => (
        <p key={warning} className={classes.warning}>
          {warning}
        </p>
      ))}
      {runs.error !== null && runs.data !== undefined && !runs.isFetchNextPageError && (
        <Stale
          error={runs.error}
          isBusy={runs.isFetching}
          onRetry={() => {
            void runs.refetch();
          }}
        />
      )}
      <div className={classes.body}>
        {search.group !== undefined && !asked.isTrash ? (
          <Suspense fallback={<WaitingRows />}>
            <GroupsTable
              project={project}
              filters={asked.filters}
              by={search.group}
              looks={looks}
              onGroup={(condition) => {
                onSearch({ filter: narrowed(filter, condition), group: undefined });
              }}
            />
          </Suspense>
        ) : runs.error !== null && runs.data === undefined ? (
          <div className={classes.failure}>
            <Wrong error={runs.error} search={search} onSearch={onSearch} onRetry={runs.refetch} />
          </div>
        ) : runs.data === undefined ? (
          <WaitingRows />
        ) : rows.length === 0 && live.waiting.fresh.length === 0 ? (
          <div className={classes.failure}>
            <NoRuns
              project={project}
              search={search}
              empty={props.empty}
              scope={scope}
              onSearch={onSearch}
            />
          </div>
        ) : (
          <RunsTable
            project={project}
            rows={rows}
            looks={looks}
            sort={sort}
            onChange={onSearch}
            chosen={chosen}
            onChoose={choose}
            onOpen={(run) => {
              void navigate({ to: "/runs/$run", params: { run }, search: { project } });
            }}
            hasMore={runs.hasNextPage && !runs.isFetchNextPageError}
            onMore={onMore}
            isStale={runs.isPlaceholderData}
            waiting={live.waiting}
            onShow={live.show}
            onQuiet={setIsQuiet}
          />
        )}
        {runs.isFetchNextPageError && (
          <div className={classes.failure}>
            <Failure error={runs.error} onRetry={() => void runs.fetchNextPage()} />
          </div>
        )}
      </div>
      {chosen.size > 0 && (
        // Below the rows: above them it would move them under the pointer that has just chosen one.
        <Suspense fallback={<div className={classes.chosen} />}>
          <ChosenBar
            project={project}
            chosen={chosen}
            unseen={unseen}
            isTrash={asked.isTrash}
            onLeave={(ids) => {
              choose(ids, false);
            }}
            onCompare={(ids) => {
              void navigate({ to: "/compare", search: { project, ...textFromIds(ids) } });
            }}
            onGone={(ids) => {
              live.remove(ids);
              choose(ids, false);
            }}
            onBack={live.renew}
          />
        </Suspense>
      )}
    </div>
  );
}

/** The search could not be answered; where its own texts are wrong, a way back from them. */
function Wrong(props: {
  error: Error;
  search: RunsSearch;
  onSearch: (change: RunsChange) => void;
  onRetry: () => unknown;
}): ReactElement {
  const { error, search, onSearch, onRetry } = props;
  if (!(error instanceof ApiError) || error.status !== 422) {
    return <Failure error={error} onRetry={() => void onRetry()} />;
  }
  const pointers = (error.problem?.errors ?? []).map(({ pointer }) => pointer);
  const isFilter = pointers.some((pointer) => pointer.startsWith("/filter"));
  return (
    <Empty title={isFilter ? "The filter cannot be read." : error.message}>
      {isFilter && search.filter !== undefined ? (
        <Button
          variant="default"
          onClick={() => {
            onSearch({ filter: undefined });
          }}
        >
          Clear the filter
        </Button>
      ) : (
        <Button
          variant="default"
          onClick={() => {
            onSearch({ sort: undefined, columns: undefined });
          }}
        >
          Usual columns and order
        </Button>
      )}
    </Empty>
  );
}
