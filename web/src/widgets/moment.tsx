/** A moment: how long ago, with the viewer's time and UTC on hover. */
import type { ReactElement } from "react";
import { ago, localTime, utcTime } from "@/base/times";
import { useNow } from "@/widgets/now";

/** The largest unit that is told passes slowly: half a minute is soon enough. */
const ANEW_MS = 30_000;

export function Moment(props: {
  at: string | null;
  /** The time itself instead of how long ago it was. */
  isExact?: boolean;
}): ReactElement {
  const { at, isExact = false } = props;
  const now = useNow(isExact || at === null ? null : ANEW_MS);
  if (at === null) return <>–</>;
  const local = localTime(at);
  return (
    <time dateTime={at} title={`${local}, ${utcTime(at)}`}>
      {isExact ? local : ago(at, now)}
    </time>
  );
}
