/** What the settings read. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, bodyOf, type Schemas } from "@/api/client";

export type Token = Schemas["TokenFacts"];
export type NewToken = Schemas["TokenMade"];
export type Member = Schemas["MemberFacts"];
export type Role = Schemas["Role"];
export type Scope = Schemas["Scope"];
export type UsageRow = Schemas["UsageRow"];
export type LimitValue = number | "unlimited";

export const ROLES: readonly Role[] = ["viewer", "runner", "admin"];

export const tokensQuery = queryOptions({
  queryKey: ["tokens"],
  queryFn: async ({ signal }): Promise<Token[]> =>
    bodyOf(await api.GET("/v1/tokens", { signal })).tokens,
});

export const membersQuery = queryOptions({
  queryKey: ["members"],
  queryFn: async ({ signal }): Promise<Member[]> =>
    bodyOf(await api.GET("/v1/members", { signal })).members,
});

export function limitsQuery(project: string | null) {
  return queryOptions({
    queryKey: ["limits", project],
    enabled: project !== null,
    queryFn: async ({ signal }) =>
      bodyOf(
        await api.GET("/v1/limits", {
          signal,
          params: { query: project === null ? {} : { project } },
        }),
      ),
  });
}

export const usageQuery = queryOptions({
  queryKey: ["usage"],
  queryFn: async ({ signal }) => bodyOf(await api.GET("/v1/usage", { signal })),
});

export type Retention = Schemas["RetentionAnswer"];

/** A dry run counts all that is old: it is read when it is looked at, and not by itself again. */
export const retentionQuery = queryOptions({
  queryKey: ["retention"],
  staleTime: 60_000,
  queryFn: async ({ signal }): Promise<Retention> =>
    bodyOf(await api.GET("/v1/retention", { signal })),
});

const AUDIT_PAGE = 100;

export const auditQuery = infiniteQueryOptions({
  queryKey: ["audit"],
  initialPageParam: null as string | null,
  queryFn: async ({ pageParam, signal }) =>
    bodyOf(
      await api.GET("/v1/audit", {
        signal,
        params: {
          query: { limit: AUDIT_PAGE, ...(pageParam === null ? {} : { cursor: pageParam }) },
        },
      }),
    ),
  getNextPageParam: (page) => page.next_cursor,
});
