/** Children: the runs below this one, as a table that is live. */
import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useCallback } from "react";
import { childProgram } from "@/base/programs";
import { type Child, keyColumns } from "@/pages/run/children/key_columns";
import classes from "@/pages/run/children/children.module.css";
import { changedSearch, type RunsChange } from "@/pages/runs/address";
import { RunsView } from "@/pages/runs/view";
import { childrenFilter, childrenQuery } from "@/state/children";
import { queries } from "@/state/queries";
import { paramsQuery, type Run, runKey } from "@/state/run";
import { seriesQuery } from "@/state/series";
import { Empty } from "@/widgets/empty";
import { Failure } from "@/widgets/failure";

const route = getRouteApi("/runs/$run");

export function ChildrenTab(props: { run: Run }): ReactElement {
  const { run } = props;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const found = useQuery(childrenQuery(run));
  const ids = (found.data?.newest ?? []).map(({ id }) => id);
  const columns = useQuery({
    queryKey: [...runKey(run.id), "key columns"],
    queryFn: () => columnsOf(ids),
    enabled: ids.length > 0,
    // Columns that come and go while runs begin cannot be read.
    staleTime: Infinity,
  });
  const onSearch = useCallback(
    (change: RunsChange) => {
      void navigate({
        search: (before) => changedSearch(before, change),
        replace: "chosen" in change,
      });
    },
    [navigate],
  );
  if (found.error !== null && found.data === undefined) {
    return <Failure error={found.error} onRetry={() => void found.refetch()} />;
  }
  if (found.data?.total === 0 && search.trash !== true) return <None run={run} />;
  if (found.data === undefined || (columns.isPending && ids.length > 0)) {
    return <Skeleton height={240} />;
  }
  const own = search.columns ?? columns.data;
  return (
    <div className={classes.table}>
      <RunsView
        project={run.project}
        search={own === undefined ? search : { ...search, columns: own }}
        onSearch={onSearch}
        scope={childrenFilter(run.id)}
        isPart
      />
    </div>
  );
}

async function columnsOf(ids: readonly string[]): Promise<string[]> {
  const children = await Promise.all(
    ids.map(async (id): Promise<Child> => {
      const [params, series] = await Promise.all([
        queries.query(paramsQuery(id)),
        queries.query(seriesQuery(id)),
      ]);
      return { params, series };
    }),
  );
  return keyColumns(children);
}

function None(props: { run: Run }): ReactElement {
  return (
    <Empty
      title="No run stands below this one"
      code={childProgram(props.run.project, props.run.id)}
    >
      Runs that name this one as their parent appear here.
    </Empty>
  );
}
