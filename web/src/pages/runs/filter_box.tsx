/** The box of the filter: completion, and a caret under what is wrong, from the server's own parser. */
import { useDebouncedValue, useHotkeys } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import {
  type KeyboardEvent,
  type ReactElement,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { accepted, cut, pointsBefore } from "@/pages/runs/points";
import classes from "@/pages/runs/filter_box.module.css";
import { type Candidate, type Fault, parsedQuery } from "@/state/parsing";

const TYPING_MS = 80;
const EXPECTED_SHOWN = 12;

interface FilterBoxProps {
  project: string;
  /** The filter that holds. */
  filter: string;
  onFilter: (filter: string) => void;
}

export function FilterBox(props: FilterBoxProps): ReactElement {
  const { project, filter, onFilter } = props;
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  const [draft, setDraft] = useState({ of: filter, text: filter });
  // Another filter than the one that was typed over: a chip went, a view was opened.
  const text = draft.of === filter ? draft.text : filter;
  const [caret, setCaret] = useState(0);
  const [isOpen, setIsOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const [isSent, setIsSent] = useState(false);
  const [scroll, setScroll] = useState(0);
  const placeNext = useRef<number | null>(null);
  const [typed] = useDebouncedValue({ text, caret: pointsBefore(text, caret) }, TYPING_MS);
  const parsed = useQuery({
    ...parsedQuery({ project, filter: typed.text, caret: typed.caret }),
    placeholderData: keepPreviousData,
    enabled: isOpen || typed.text !== "",
  });
  const isCurrent = typed.text === text && !parsed.isPlaceholderData;
  const completion = parsed.data?.completion;
  const candidates = isOpen ? (completion?.candidates ?? []) : [];
  const fault = isCurrent ? parsed.data?.faults?.[0] : undefined;
  const isHalfTyped = fault !== undefined && isOpen && !isSent && isAtEnd(fault, text);
  const shownFault = isHalfTyped ? undefined : fault;
  const canonical = isCurrent ? (parsed.data?.canonical ?? "") : "";

  useHotkeys([["/", () => input.current?.focus()]]);
  useLayoutEffect(() => {
    if (placeNext.current === null) return;
    input.current?.setSelectionRange(placeNext.current, placeNext.current);
    placeNext.current = null;
  });
  useEffect(() => {
    document.getElementById(`${listId}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at, listId]);

  const change = (next: string, place: number): void => {
    setDraft({ of: filter, text: next });
    setCaret(place);
    setAt(-1);
    setIsSent(false);
  };
  const accept = (candidate: Candidate): void => {
    if (completion === null || completion === undefined) return;
    const next = accepted(text, completion, candidate);
    change(next.text, next.caret);
    placeNext.current = next.caret;
    input.current?.focus();
  };
  const send = (): void => {
    setIsSent(true);
    setIsOpen(false);
    onFilter(text.trim());
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>): void => {
    const candidate = candidates[at];
    const isFresh = isCurrent && typed.caret === pointsBefore(text, caret);
    if (event.key === "Enter" || event.key === "Tab") {
      const first = event.key === "Tab" ? (candidate ?? candidates[0]) : candidate;
      if (first !== undefined && isFresh) accept(first);
      else if (event.key === "Enter") send();
      else return;
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : -1;
      setIsOpen(true);
      setAt(candidates.length === 0 ? -1 : wrapped(at + step, candidates.length));
    } else if (event.key === "Escape") {
      if (candidates.length > 0) setIsOpen(false);
      else if (text !== filter) change(filter, filter.length);
      else input.current?.blur();
    } else {
      return;
    }
    event.preventDefault();
  };

  return (
    <div className={classes.box}>
      <div className={classes.field} data-wrong={shownFault !== undefined}>
        <input
          ref={input}
          className={classes.input}
          type="text"
          role="combobox"
          aria-label="Filter"
          aria-expanded={candidates.length > 0}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={at >= 0 ? `${listId}-${at}` : undefined}
          aria-invalid={shownFault !== undefined}
          aria-describedby={shownFault === undefined ? undefined : `${listId}-fault`}
          placeholder="Filter: metrics.loss{split=val} < 0.3 AND tags.stage = prod"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          value={text}
          onChange={({ currentTarget }) => {
            setIsOpen(true);
            change(currentTarget.value, currentTarget.selectionStart ?? 0);
          }}
          onSelect={({ currentTarget }) => {
            setCaret(currentTarget.selectionStart ?? 0);
          }}
          onFocus={() => {
            setIsOpen(true);
          }}
          onBlur={() => {
            setIsOpen(false);
          }}
          onScroll={({ currentTarget }) => {
            setScroll(currentTarget.scrollLeft);
          }}
          onKeyDown={onKeyDown}
        />
        {text === "" ? (
          <kbd className={classes.hint}>/</kbd>
        ) : (
          <button
            type="button"
            className={classes.clear}
            aria-label="Clear the filter"
            onClick={() => {
              change("", 0);
              onFilter("");
            }}
          >
            ×
          </button>
        )}
      </div>
      {candidates.length > 0 && (
        <ul id={listId} className={classes.list} role="listbox" aria-label="What could stand here">
          {candidates.map((candidate, index) => (
            <li
              key={`${candidate.kind} ${candidate.text}`}
              id={`${listId}-${index}`}
              role="option"
              aria-selected={index === at}
              className={classes.option}
              onPointerDown={(event) => {
                event.preventDefault();
                accept(candidate);
              }}
            >
              <span>{candidate.text}</span>
              <span className={classes.kind}>{candidate.kind}</span>
            </li>
          ))}
          {(completion?.expected ?? []).length > 0 && (
            <li role="presentation" className={classes.described}>
              or {completion?.expected.join(", ")}
            </li>
          )}
        </ul>
      )}
      {shownFault !== undefined && (
        <Wrong id={`${listId}-fault`} text={text} fault={shownFault} scroll={scroll} />
      )}
      {isOpen && candidates.length === 0 && canonical !== "" && canonical !== text.trim() && (
        <p className={classes.reading}>
          Read as <code>{canonical}</code>
        </p>
      )}
    </div>
  );
}

function Wrong(props: { id: string; text: string; fault: Fault; scroll: number }): ReactElement {
  const { id, text, fault, scroll } = props;
  const [before, within] = cut(text, fault.offset ?? 0, fault.length ?? 1);
  return (
    <>
      <div className={classes.carets} aria-hidden="true">
        <div style={{ transform: `translateX(${-scroll}px)` }}>
          <span>{before}</span>
          <span className={classes.caret}>{within}</span>
        </div>
      </div>
      <p id={id} className={classes.message} role="alert">
        {faultText(fault)}
      </p>
    </>
  );
}

/** Returns what is wrong and what could stand there; of many words the first ones. */
function faultText(fault: Fault): string {
  const expected = fault.expected ?? [];
  if (expected.length === 0) return fault.message;
  const more = expected.length > EXPECTED_SHOWN ? ", …" : "";
  return `${fault.message}; here could stand ${expected.slice(0, EXPECTED_SHOWN).join(", ")}${more}`;
}

/** Who is at the end of a text has more to say. */
function isAtEnd(fault: Fault, text: string): boolean {
  return (fault.offset ?? 0) + (fault.length ?? 0) >= Array.from(text.trimEnd()).length;
}

function wrapped(at: number, count: number): number {
  return at < -1 ? count - 1 : at >= count ? -1 : at;
}
