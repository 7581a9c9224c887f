/** One part of the settings: what it is about, and in its place what the viewer may not see. */
import { Skeleton } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { ApiError } from "@/api/client";
import classes from "@/pages/settings/settings.module.css";
import type { Found } from "@/state/answers";
import { Answer } from "@/widgets/answer";
import { Empty } from "@/widgets/empty";

export function Part<T>(props: {
  about: ReactNode;
  actions?: ReactNode;
  found: Found<T>;
  children: (data: T) => ReactNode;
}): ReactElement {
  const { about, actions, found, children } = props;
  return (
    <>
      <div className={classes.about}>
        <p>{about}</p>
        {actions}
      </div>
      <Answer
        found={found}
        waiting={<Waiting />}
        refused={(error) =>
          error instanceof ApiError && error.status === 403 ? (
            <Empty title="You may not see this">{error.message}</Empty>
          ) : null
        }
      >
        {children}
      </Answer>
    </>
  );
}

function Waiting(): ReactElement {
  return (
    <div className={classes.waiting} role="status" aria-busy="true" aria-label="Loading">
      {Array.from({ length: 6 }, (_, at) => (
        <Skeleton key={at} height={16} my={16} />
      ))}
    </div>
  );
}
