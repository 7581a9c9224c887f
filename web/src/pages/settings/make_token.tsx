/** The form that makes a token. */
import { Button, Checkbox, Group, Modal, NativeSelect, Select, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { api, bodyOf } from "@/api/client";
import type { Session } from "@/api/session";
import { tokensQuery, type NewToken, type Scope } from "@/pages/settings/data";
import classes from "@/pages/settings/settings.module.css";
import { expiresIn, LIVES } from "@/pages/settings/token_state";
import { projectsQuery } from "@/state/projects";
import { queries } from "@/state/queries";
import { Failure } from "@/widgets/failure";

const SCOPES: readonly { scope: Scope; says: string }[] = [
  { scope: "runs:read", says: "read runs" },
  { scope: "runs:write", says: "write runs, experiments and views" },
  { scope: "admin", says: "administrate members, tokens and limits" },
];

interface Props {
  session: Session;
  onClose: () => void;
  onMade: (token: NewToken) => void;
}

export function MakeToken(props: Props & { isOpen: boolean }): ReactElement {
  return (
    <Modal opened={props.isOpen} onClose={props.onClose} title="New token">
      <Form {...props} />
    </Modal>
  );
}

function Form(props: Props): ReactElement {
  const { session, onClose, onMade } = props;
  const projects = useQuery(projectsQuery);
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<string[]>(["runs:read", "runs:write"]);
  const [project, setProject] = useState<string | null>(session.project);
  const [days, setDays] = useState("90");
  const [isService, setService] = useState(false);
  const make = useMutation({
    mutationFn: async () => {
      const made = bodyOf(
        await api.POST("/v1/tokens", {
          body: {
            name: name.trim(),
            scopes: scopes as Scope[],
            project,
            expires: expiresIn(days, Date.now()),
            is_service: isService,
          },
        }),
      );
      await queries.invalidateQueries({ queryKey: tokensQuery.queryKey });
      return made;
    },
    onSuccess: onMade,
  });
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault();
        make.mutate();
      }}
    >
      <TextInput
        label="Name"
        description="What it is for: the machine or the program"
        required
        maxLength={200}
        data-autofocus
        value={name}
        onChange={(event) => {
          setName(event.currentTarget.value);
        }}
      />
      <Checkbox.Group label="It may" value={scopes} onChange={setScopes}>
        <Group gap={8} mt={4}>
          {SCOPES.map(({ scope, says }) => (
            <Checkbox key={scope} value={scope} label={says} />
          ))}
        </Group>
      </Checkbox.Group>
      <Select
        label="In"
        data={projects.data?.map((one) => one.name) ?? []}
        placeholder="every project that you see"
        clearable={session.project === null}
        searchable
        value={project}
        onChange={setProject}
      />
      <NativeSelect
        label="For"
        data={[...LIVES]}
        value={days}
        onChange={(event) => {
          setDays(event.currentTarget.value);
        }}
      />
      {session.is_tenant_admin && (
        <Checkbox
          label="A service: it belongs to nobody, and stays when you go"
          checked={isService}
          onChange={(event) => {
            setService(event.currentTarget.checked);
          }}
        />
      )}
      {make.error !== null && <Failure error={make.error} title="It was not made" />}
      <Group gap={8}>
        <Button
          type="submit"
          loading={make.isPending}
          disabled={name.trim() === "" || scopes.length === 0}
        >
          Make
        </Button>
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
      </Group>
    </form>
  );
}
