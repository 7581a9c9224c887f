/** Members: who has which role, in one project or in all. */
import { Button, NativeSelect, Select, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { api } from "@/api/client";
import type { Session } from "@/api/session";
import { Confirm, type Question } from "@/widgets/confirm";
import { membersQuery, ROLES, type Member, type Role } from "@/pages/settings/data";
import { Part } from "@/pages/settings/part";
import classes from "@/pages/settings/settings.module.css";
import { projectsQuery } from "@/state/projects";
import { queries } from "@/state/queries";
import { mayAdministrate } from "@/state/rights";
import { DialogForm, FormDialog } from "@/widgets/dialog_form";
import { Empty } from "@/widgets/empty";
import { Moment } from "@/widgets/moment";
import { tell } from "@/widgets/notice";
import { QuietHead, RowButton, Rows, rows } from "@/widgets/rows";

async function setRole(member: {
  user: string;
  role: Role;
  project: string | null;
}): Promise<void> {
  await api.PUT("/v1/members", { body: member });
  await queries.invalidateQueries({ queryKey: membersQuery.queryKey });
}

export function Members(props: { session: Session }): ReactElement {
  const { session } = props;
  const found = useQuery(membersQuery);
  const projects = useQuery(projectsQuery);
  const [isAdding, setAdding] = useState(false);
  const [question, setQuestion] = useState<Question | null>(null);
  const places = [
    ...(mayAdministrate(session, null) ? [null] : []),
    ...(projects.data ?? []).map(({ name }) => name).filter((one) => mayAdministrate(session, one)),
  ];
  return (
    <>
      <Part
        found={found}
        about="Who has which role in the projects that you see. A viewer reads; a runner writes runs, experiments and views too; an admin gives roles and sets limits as well."
        actions={
          places.length > 0 && (
            <Button
              onClick={() => {
                setAdding(true);
              }}
            >
              Give a role
            </Button>
          )
        }
      >
        {(members) =>
          members.length === 0 ? (
            <Empty title="There are no members yet" code="mapi admin sign-in --user NAME">
              Whoever has a token of a service may do what its scopes say. Give a role, and the user
              is known.
            </Empty>
          ) : (
            <Rows label="Members">
              <thead>
                <tr>
                  <th scope="col">User</th>
                  <th scope="col">Role</th>
                  <th scope="col">Project</th>
                  <th scope="col" className={rows.roomy}>
                    Since
                  </th>
                  <QuietHead label="Take the role away" />
                </tr>
              </thead>
              <tbody>
                {members.map((member) => (
                  <MemberRow
                    key={`${member.user} ${member.project ?? "*"}`}
                    member={member}
                    mayChange={mayAdministrate(session, member.project)}
                    onAsk={setQuestion}
                  />
                ))}
              </tbody>
            </Rows>
          )
        }
      </Part>
      <FormDialog
        title="Give a role"
        isOpen={isAdding}
        onClose={() => {
          setAdding(false);
        }}
      >
        <RoleForm
          places={places}
          onEnd={() => {
            setAdding(false);
          }}
        />
      </FormDialog>
      <Confirm
        question={question}
        onClose={() => {
          setQuestion(null);
        }}
      />
    </>
  );
}

function MemberRow(props: {
  member: Member;
  mayChange: boolean;
  onAsk: (question: Question) => void;
}): ReactElement {
  const { member, mayChange, onAsk } = props;
  const change = useMutation({
    mutationFn: (role: Role) => setRole({ user: member.user, project: member.project, role }),
    onError: (error) => {
      tell.failure("The role stays as it was", error);
    },
  });
  return (
    <tr>
      <th scope="row" className={rows.wide} title={member.user}>
        {member.user}
      </th>
      <td>
        {mayChange ? (
          <NativeSelect
            className={classes.role}
            aria-label={`Role of ${member.user}`}
            data={[...ROLES]}
            value={change.isPending ? change.variables : member.role}
            onChange={(event) => {
              const role = ROLES.find((one) => one === event.currentTarget.value);
              if (role !== undefined) change.mutate(role);
            }}
          />
        ) : (
          member.role
        )}
      </td>
      <td>{member.project ?? "every project"}</td>
      <td className={rows.roomy}>
        <Moment at={member.created} isExact />
      </td>
      <td className={rows.actions}>
        {mayChange && (
          <RowButton
            label={`Take away the role of ${member.user}`}
            onClick={() => {
              onAsk({
                title: "Take the role away?",
                text: `${member.user} can do nothing in ${
                  member.project === null ? "any project by this role" : member.project
                } from then on. Whoever has no role left is signed out, and their tokens end.`,
                verb: "Take away",
                work: async () => {
                  await api.DELETE("/v1/members", {
                    params: {
                      query: {
                        user: member.user,
                        ...(member.project === null ? {} : { project: member.project }),
                      },
                    },
                  });
                  await queries.invalidateQueries({ queryKey: membersQuery.queryKey });
                },
              });
            }}
          >
            Take away
          </RowButton>
        )}
      </td>
    </tr>
  );
}

const EVERYWHERE = "every project";

function RoleForm(props: { places: readonly (string | null)[]; onEnd: () => void }): ReactElement {
  const { places, onEnd } = props;
  const [user, setUser] = useState("");
  const [role, setTheRole] = useState<Role>("viewer");
  const [place, setPlace] = useState(places.find((one) => one !== null) ?? null);
  return (
    <DialogForm
      verb="Give"
      failure="The role was not given"
      isReady={user.trim() !== ""}
      work={() => setRole({ user: user.trim(), role, project: place })}
      onDone={onEnd}
      onCancel={onEnd}
    >
      <TextInput
        label="User"
        description="Whoever is not known yet is made; with an identity provider, the name that it gives"
        required
        maxLength={200}
        data-autofocus
        value={user}
        onChange={(event) => {
          setUser(event.currentTarget.value);
        }}
      />
      <NativeSelect
        label="Role"
        data={[...ROLES]}
        value={role}
        onChange={(event) => {
          const found = ROLES.find((one) => one === event.currentTarget.value);
          if (found !== undefined) setTheRole(found);
        }}
      />
      <Select
        label="In"
        data={places.map((one) => ({ value: one ?? "", label: one ?? EVERYWHERE }))}
        allowDeselect={false}
        searchable
        value={place ?? ""}
        onChange={(one) => {
          setPlace(one === "" ? null : one);
        }}
      />
    </DialogForm>
  );
}
