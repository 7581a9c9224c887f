/** The tab Params of a run. */
import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useMemo } from "react";
import { paramsProgram } from "@/base/programs";
import { utcTime } from "@/base/times";
import { type Leaf, NestedRows } from "@/pages/run/nested_rows";
import { type Param, paramsQuery, type Run } from "@/state/run";
import { Answer } from "@/widgets/answer";
import { Empty } from "@/widgets/empty";

const route = getRouteApi("/runs/$run");

export function ParamsTab(props: { run: Run }): ReactElement {
  const params = useQuery(paramsQuery(props.run.id));
  return (
    <Answer found={params} waiting={<Skeleton height={240} />}>
      {(known) => <Params run={props.run} params={known} />}
    </Answer>
  );
}

function Params(props: { run: Run; params: Record<string, Param> }): ReactElement {
  const { run, params } = props;
  const { params: sought = "", tree: isTree = false } = route.useSearch();
  const navigate = route.useNavigate();
  const leaves = useMemo(
    () =>
      Object.entries(params).map(([key, param]): [string, Leaf] => [
        key,
        {
          text: param.text,
          title: `${param.source}${param.user ? `, ${param.user}` : ""}, ${utcTime(param.time)}`,
        },
      ]),
    [params],
  );
  if (leaves.length === 0) {
    return (
      <Empty title="This run has no params." code={paramsProgram(run.project)}>
        What a run was told at its start: the config of <code>et.init</code>, or{" "}
        <code>log_params</code> of the platform&apos;s client.
      </Empty>
    );
  }
  return (
    <NestedRows
      label="Params"
      leaves={leaves}
      sought={sought}
      onSeek={(text) =>
        void navigate({
          replace: true,
          search: (previous) => ({ ...previous, params: text === "" ? undefined : text }),
        })
      }
      isTree={isTree}
      onTree={(chosen) =>
        void navigate({
          replace: true,
          search: (previous) => ({ ...previous, tree: chosen ? true : undefined }),
        })
      }
    />
  );
}
