/** One line of the log: its last state in one row, all of it on demand. */
import { VisuallyHidden } from "@mantine/core";
import { type ReactElement, useMemo } from "react";
import { lastState, withoutCut } from "@/base/console";
import { wholeNumber } from "@/base/numbers";
import { clockTime, utcTime } from "@/base/times";
import classes from "@/pages/run/logs/logs.module.css";
import type { LogLine } from "@/state/log_lines";
import { Copy } from "@/widgets/copy";

/** The levels have letters, so that colours need not be told apart. */
const MARKS: Record<LogLine["level"], string> = { debug: "D", info: "I", warning: "W", error: "E" };
/** Of one line before somebody opens it; longer ones are marked. */
const SHOWN_LETTERS = 600;
const SHOWN_FIELDS = 8;

interface Props {
  line: LogLine;
  isOpen: boolean;
  onToggle: () => void;
}

export function LogRow(props: Props): ReactElement {
  const { line, isOpen, onToggle } = props;
  const { message } = line;
  const { seen, missing } = useMemo(() => {
    const whole = withoutCut(message);
    return { seen: lastState(whole.text), missing: whole.missing };
  }, [message]);
  const isLong = seen.length > SHOWN_LETTERS;
  const producer = [line.stream, line.rank === 0 ? "" : `#${line.rank ?? 0}`]
    .filter(Boolean)
    .join(" ");
  return (
    <div className={classes.line} data-level={line.level} data-open={isOpen}>
      <button type="button" className={classes.toggle} aria-expanded={isOpen} onClick={onToggle}>
        <span className={classes.mark} aria-hidden="true">
          {MARKS[line.level]}
        </span>
        <time dateTime={line.time} title={utcTime(line.time)}>
          {clockTime(line.time)}
        </time>
        <VisuallyHidden>, {line.level}: the whole line</VisuallyHidden>
      </button>
      <div className={classes.text}>
        {producer !== "" && <span className={classes.producer}>{producer}</span>}
        <span className={classes.message}>{isLong ? seen.slice(0, SHOWN_LETTERS) : seen}</span>
        {isLong && !isOpen && (
          <span className={classes.note}>… {wholeNumber(seen.length)} characters</span>
        )}
        {missing > 0 && (
          <span className={classes.note} title="The writer keeps no longer lines.">
            cut: {wholeNumber(missing)} more characters were not kept
          </span>
        )}
        {!isOpen && <FieldsInBrief fields={line.fields} />}
        {isOpen && <Whole line={line} isDifferent={seen !== message || isLong} />}
      </div>
    </div>
  );
}

function FieldsInBrief(props: { fields: unknown }): ReactElement | null {
  if (typeof props.fields !== "object" || props.fields === null) return null;
  const fields = Object.entries(props.fields);
  return (
    <span className={classes.fields}>
      {fields.slice(0, SHOWN_FIELDS).map(([name, value]) => (
        <span key={name}>
          {name}={brief(value)}
        </span>
      ))}
      {fields.length > SHOWN_FIELDS && <span>and {fields.length - SHOWN_FIELDS} more</span>}
    </span>
  );
}

function brief(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function Whole(props: { line: LogLine; isDifferent: boolean }): ReactElement {
  const { line, isDifferent } = props;
  const fields = line.fields == null ? null : JSON.stringify(line.fields, null, 2);
  return (
    <div className={classes.whole}>
      <p>
        {utcTime(line.time)}, {line.level}
        {line.stream !== "" && `, stream ${line.stream}`}, rank {line.rank ?? 0}, by {line.source}
        {line.user !== undefined && line.user !== "" && ` ${line.user}`}
        <Copy text={line.message} label="Copy the message" />
      </p>
      {isDifferent && <pre aria-label="As it was written">{withVisibleControls(line.message)}</pre>}
      {fields !== null && <pre aria-label="Fields">{fields}</pre>}
    </div>
  );
}

/** Carriage returns and escapes as the signs that Unicode has for them. */
function withVisibleControls(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what is shown
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (letter) =>
    letter === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + letter.charCodeAt(0)),
  );
}
