/**
 * A box whose text stands in the address: typing is seen at once, the address follows when it rests.
 *
 * Bound to the address itself, a box would lose letters and its caret: the address comes later.
 */
import { TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useState, type ReactElement } from "react";

const TYPING_MS = 200;

export function SearchBox(props: {
  label: string;
  placeholder: string;
  className?: string | undefined;
  maxLength?: number;
  /** What stands in the address. */
  value: string;
  onSeek: (text: string) => void;
}): ReactElement {
  const { label, value, onSeek, ...look } = props;
  const [text, setText] = useState(value);
  const [seen, setSeen] = useState(value);
  const [sent, setSent] = useState(value);
  // The address has changed: by what was typed here, or from elsewhere (a way back, a button).
  if (value !== seen) {
    setSeen(value);
    if (value !== sent) {
      setText(value);
      setSent(value);
    }
  }
  const seek = useDebouncedCallback((wanted: string) => {
    setSent(wanted);
    onSeek(wanted);
  }, TYPING_MS);
  return (
    <TextInput
      {...look}
      type="search"
      aria-label={label}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        seek(event.currentTarget.value);
      }}
    />
  );
}
