/** The form that makes a token. */
import { Checkbox, Group, NativeSelect, Select, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { api, bodyOf } from "@/api/client";
import type { Session } from "@/api/session";
import { tokensQuery, type NewToken, type Scope } from "@/pages/settings/data";
import { expiresIn, LIVES } from "@/pages/settings/token_state";
import { projectsQuery } from "@/state/projects";
import { queries } from "@/state/queries";
import { DialogForm, FormDialog } from "@/widgets/dialog_form";

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
    <FormDialog title="New token" isOpen={props.isOpen} onClose={props.onClose}>
      <Form {...props} />
    </FormDialog>
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
  const make = async (): Promise<NewToken> => {
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
  };
  return (
    <DialogForm
      verb="Make"
      failure="It was not made"
      isReady={name.trim() !== "" && scopes.length > 0}
      work={make}
      onDone={onMade}
      onCancel={onClose}
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
    </DialogForm>
  );
}
