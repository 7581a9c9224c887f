/**
 * What was asked for, in its place: a skeleton, the answer, or why there is none.
 *
 * An answer that could not be read anew stays in sight, with the reason above it: what a reader has
 * open, has typed or has scrolled to outlives an outage. Another question needs another `key`.
 */
import { useState, type ReactElement, type ReactNode } from "react";
import type { Found } from "@/state/answers";
import { Failure } from "@/widgets/failure";
import { Stale } from "@/widgets/stale";

export function Answer<T>(props: {
  found: Found<T>;
  /** In its place before the first answer. */
  waiting: ReactNode;
  /** What stands instead of the usual failure; null: the usual one. */
  refused?: (error: Error) => ReactElement | null;
  children: (data: T) => ReactNode;
}): ReactElement {
  const { found, waiting, refused, children } = props;
  const { data, error, isFetching } = found;
  // While it is asked for again the error is taken back: in sight it stays until there is an answer.
  const [last, setLast] = useState<Error | null>(null);
  if (error !== null && error !== last) setLast(error);
  if (error === null && data !== undefined && last !== null) setLast(null);
  const retry = (): void => {
    void found.refetch();
  };
  if (data === undefined) {
    const failed = error ?? last;
    if (failed === null) return <>{waiting}</>;
    return refused?.(failed) ?? <Failure error={failed} isBusy={isFetching} onRetry={retry} />;
  }
  return (
    <>
      {error !== null && <Stale error={error} isBusy={isFetching} onRetry={retry} />}
      {children(data)}
    </>
  );
}
