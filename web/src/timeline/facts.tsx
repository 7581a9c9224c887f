/** What is known of the span that is pointed at. */
import type { ReactElement } from "react";
import { laneName, momentText, type Spans, spanTime } from "@/timeline/spans";
import classes from "@/timeline/timeline.module.css";

interface Props {
  id: string;
  spans: Spans;
  index: number | null;
  /** It was chosen: it is read out. */
  isHeld: boolean;
}

export function SpanFacts(props: Props): ReactElement {
  const { id, spans, index, isHeld } = props;
  if (index === null) {
    return (
      <p id={id} className={classes.facts}>
        Point at a span to read it.
      </p>
    );
  }
  const lane = spans.lanes[spans.lane[index] ?? 0];
  const start = spans.start[index] ?? 0;
  const step = spans.step[index] ?? -1;
  const fields = spans.fields[index];
  return (
    <p id={id} className={classes.facts} aria-live={isHeld ? "polite" : "off"}>
      <strong>{spans.paths[spans.path[index] ?? 0]}</strong>
      <span>{spanTime((spans.end[index] ?? 0) - start)}</span>
      <span>at {momentText(start)}</span>
      {step >= 0 && <span>step {step}</span>}
      {lane !== undefined && <span>{laneName(lane)}</span>}
      {fields !== null && fields !== undefined && (
        <code>{JSON.stringify(fields).slice(0, 400)}</code>
      )}
    </p>
  );
}
