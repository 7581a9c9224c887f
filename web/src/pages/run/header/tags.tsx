/** The run's tags as chips: one is added, replaced or deleted where they stand. */
import { Button, CloseButton, Popover, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { api } from "@/api/client";
import { wholeNumber } from "@/base/numbers";
import classes from "@/pages/run/header/header.module.css";
import { type Run, tagsQuery } from "@/state/run";

/** More would fill the head of the page; the others are shown on demand. */
const TAGS_SEEN = 10;

export function TagChips(props: { run: Run; canChange: boolean }): ReactElement | null {
  const { run, canChange } = props;
  const cache = useQueryClient();
  const { queryKey } = tagsQuery(run.id);
  const [areAllSeen, setAreAllSeen] = useState(false);
  const tags = useQuery(tagsQuery(run.id));
  const remove = useMutation({
    mutationFn: (key: string) =>
      api.DELETE("/v1/runs/{run}/tags/{key}", { params: { path: { run: run.id, key } } }),
    onSuccess: (_, key) => {
      cache.setQueryData(queryKey, (known) =>
        known === undefined
          ? known
          : Object.fromEntries(Object.entries(known).filter(([other]) => other !== key)),
      );
    },
  });
  const unread = tags.error !== null && (
    <span role="alert" className={classes.error}>
      The tags could not be read{tags.data !== undefined && " anew"}: {tags.error.message}
    </span>
  );
  if (tags.data === undefined && unread !== false) return unread;
  const found = Object.entries(tags.data ?? {});
  const seen = areAllSeen ? found : found.slice(0, TAGS_SEEN);
  if (found.length === 0 && !canChange && unread === false) return null;
  return (
    <div className={classes.tags} role="group" aria-label="Tags">
      {seen.map(([key, value]) => (
        <span key={key} className={classes.chip} title={value === "" ? key : `${key}: ${value}`}>
          <span className={classes.chipText}>
            <span className={value === "" ? undefined : classes.chipKey}>{key}</span>
            {value !== "" && ` ${value}`}
          </span>
          {canChange && (
            <CloseButton
              size={18}
              iconSize={12}
              aria-label={`Delete the tag ${key}`}
              onClick={() => {
                remove.mutate(key);
              }}
            />
          )}
        </span>
      ))}
      {found.length > TAGS_SEEN && (
        <Button
          variant="subtle"
          size="compact-xs"
          fw={400}
          className={classes.more}
          aria-expanded={areAllSeen}
          onClick={() => {
            setAreAllSeen(!areAllSeen);
          }}
        >
          {areAllSeen ? "Show fewer" : `${wholeNumber(found.length - TAGS_SEEN)} more`}
        </Button>
      )}
      {canChange && <AddTag run={run.id} />}
      {unread}
      {remove.error && (
        <span role="alert" className={classes.error}>
          {remove.error.message}
        </span>
      )}
    </div>
  );
}

function AddTag(props: { run: string }): ReactElement {
  const { run } = props;
  const cache = useQueryClient();
  const [isOpen, setIsOpen] = useState(false);
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const add = useMutation({
    mutationFn: () =>
      api.PUT("/v1/runs/{run}/tags", {
        params: { path: { run } },
        body: { tags: { [key]: value } },
      }),
    onSuccess: () => {
      cache.setQueryData(tagsQuery(run).queryKey, (known) =>
        known === undefined ? known : { ...known, [key]: value },
      );
      setIsOpen(false);
      setKey("");
      setValue("");
    },
  });
  return (
    <Popover opened={isOpen} onChange={setIsOpen} trapFocus position="bottom-start">
      <Popover.Target>
        <Button
          variant="subtle"
          color="gray"
          size="compact-xs"
          fw={400}
          onClick={() => {
            setIsOpen(!isOpen);
          }}
        >
          Add a tag
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <form
          className={classes.tagForm}
          onSubmit={(event) => {
            event.preventDefault();
            if (key !== "") add.mutate();
          }}
        >
          <TextInput
            label="Key"
            data-autofocus
            maxLength={250}
            value={key}
            onChange={(event) => {
              setKey(event.currentTarget.value);
            }}
          />
          <TextInput
            label="Value"
            maxLength={5000}
            value={value}
            onChange={(event) => {
              setValue(event.currentTarget.value);
            }}
          />
          {add.error && (
            <span role="alert" className={classes.error}>
              {add.error.message}
            </span>
          )}
          <Button type="submit" disabled={key === ""} loading={add.isPending}>
            Add
          </Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
