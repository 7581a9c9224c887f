/** The table of runs. */
import { Button, Skeleton, Table } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { api, bodyOf } from "@/api/client";
import { localTime, utcTime } from "@/base/times";
import { chosenProject, projectsQuery } from "@/state/projects";
import { Failure } from "@/widgets/failure";
import { StatusMark } from "@/widgets/status";

const PAGE = 100;
const route = getRouteApi("/runs");

export function RunsPage(): ReactElement {
  const { project: asked, filter, sort } = route.useSearch();
  const projects = useQuery(projectsQuery);
  const project = projects.data ? chosenProject(asked, projects.data) : null;
  const runs = useInfiniteQuery({
    queryKey: ["runs", project, filter, sort],
    enabled: project !== null,
    initialPageParam: null as string | null,
    queryFn: async ({ pageParam, signal }) =>
      bodyOf(
        await api.POST("/v1/runs/search", {
          signal,
          body: {
            project: project ?? "",
            limit: PAGE,
            ...(filter === undefined ? {} : { filter: [filter] }),
            ...(sort === undefined ? {} : { sort }),
            ...(pageParam === null ? {} : { cursor: pageParam }),
          },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor,
  });
  if (runs.error) return <Failure error={runs.error} onRetry={() => void runs.refetch()} />;
  if (!runs.data) return <Skeleton height={320} m={12} />;
  const rows = runs.data.pages.flatMap((page) => page.runs);
  return (
    <>
      <Table stickyHeader highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Status</Table.Th>
            <Table.Th>Name</Table.Th>
            <Table.Th>User</Table.Th>
            <Table.Th>Created</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((run) => (
            <Table.Tr key={run.id}>
              <Table.Td>
                <StatusMark status={run.status} />
              </Table.Td>
              <Table.Td>{run.name}</Table.Td>
              <Table.Td>{run.user}</Table.Td>
              <Table.Td title={utcTime(run.created)}>{localTime(run.created)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {runs.hasNextPage && (
        <Button variant="default" m={12} onClick={() => void runs.fetchNextPage()}>
          Show more
        </Button>
      )}
    </>
  );
}
