/** One part of the settings: what it is about, and in its place what the viewer may not see. */
import { Skeleton } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";
import { ApiError } from "@/api/client";
import classes from "@/pages/settings/settings.module.css";
import { Empty } from "@/widgets/empty";
import { Failure } from "@/widgets/failure";

export function Part<T>(props: {
  about: ReactNode;
  actions?: ReactNode;
  found: Pick<UseQueryResult<T>, "data" | "error" | "refetch">;
  children: (data: T) => ReactNode;
}): ReactElement {
  const { about, actions, found, children } = props;
  return (
    <>
      <div className={classes.about}>
        <p>{about}</p>
        {actions}
      </div>
      {found.data !== undefined ? (
        children(found.data)
      ) : found.error instanceof ApiError && found.error.status === 403 ? (
        <Empty title="You may not see this">{found.error.message}</Empty>
      ) : found.error !== null ? (
        <Failure error={found.error} onRetry={() => void found.refetch()} />
      ) : (
        <div className={classes.waiting} role="status" aria-busy="true" aria-label="Loading">
          {Array.from({ length: 6 }, (_, at) => (
            <Skeleton key={at} height={16} my={16} />
          ))}
        </div>
      )}
    </>
  );
}
