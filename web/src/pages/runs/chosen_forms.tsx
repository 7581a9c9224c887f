/** What is asked before chosen runs are tagged or moved: a button that opens a form of its own. */
import { Autocomplete, Button, Popover, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { openExperiments } from "@/pages/runs/acting";
import classes from "@/pages/runs/view.module.css";
import { fieldsQuery } from "@/state/fields";

interface FormProps {
  label: string;
  isBusy: boolean;
  canSend: boolean;
  send: string;
  onSend: () => Promise<void>;
  children: ReactElement;
}

function FormButton(props: FormProps): ReactElement {
  const [isOpen, setIsOpen] = useState(false);
  const [error, setError] = useState<string | null>(null);
  return (
    <Popover opened={isOpen} onChange={setIsOpen} position="bottom-start" trapFocus shadow="md">
      <Popover.Target>
        <Button
          variant="default"
          loading={props.isBusy}
          onClick={() => {
            setIsOpen(!isOpen);
          }}
        >
          {props.label}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <form
          className={classes.form}
          onSubmit={(event) => {
            event.preventDefault();
            setError(null);
            props.onSend().then(
              () => {
                setIsOpen(false);
              },
              (failure: unknown) => {
                setError(failure instanceof Error ? failure.message : String(failure));
              },
            );
          }}
        >
          {props.children}
          {error !== null && (
            <p role="alert" className={classes.wrong}>
              {error}
            </p>
          )}
          <Button type="submit" loading={props.isBusy} disabled={!props.canSend}>
            {props.send}
          </Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}

export function TagButton(props: {
  project: string;
  isBusy: boolean;
  onTag: (key: string, value: string) => Promise<void>;
}): ReactElement {
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const fields = useQuery(fieldsQuery(props.project, ""));
  return (
    <FormButton
      label="Tag …"
      isBusy={props.isBusy}
      canSend={key.trim() !== ""}
      send="Set the tag"
      onSend={() => props.onTag(key.trim(), value)}
    >
      <>
        <Autocomplete
          data-autofocus
          label="Tag"
          placeholder="stage"
          size="xs"
          maxLength={250}
          data={fields.data?.tags ?? []}
          limit={12}
          value={key}
          onChange={setKey}
          comboboxProps={{ withinPortal: false }}
        />
        <TextInput
          label="Value"
          placeholder="candidate"
          maxLength={5_000}
          value={value}
          onChange={({ currentTarget }) => {
            setValue(currentTarget.value);
          }}
        />
      </>
    </FormButton>
  );
}

export function MoveButton(props: {
  project: string;
  isBusy: boolean;
  onMove: (name: string) => Promise<void>;
}): ReactElement {
  const [name, setName] = useState("");
  const experiments = useQuery({
    queryKey: ["experiments", props.project, "open"],
    queryFn: () => openExperiments(props.project),
  });
  const names = experiments.data?.map((experiment) => experiment.name) ?? [];
  const isNew = name.trim() !== "" && !names.includes(name.trim());
  return (
    <FormButton
      label="Move …"
      isBusy={props.isBusy}
      canSend
      send={
        name.trim() === "" ? "Take out of their experiment" : isNew ? "Make it and move" : "Move"
      }
      onSend={() => props.onMove(name.trim())}
    >
      <Autocomplete
        data-autofocus
        label="Experiment"
        description="Empty: none"
        size="xs"
        maxLength={200}
        data={names}
        limit={12}
        value={name}
        onChange={setName}
        comboboxProps={{ withinPortal: false }}
      />
    </FormButton>
  );
}
