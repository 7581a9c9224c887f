/** Projects: which there are for the viewer, and what the viewer is in each. */
import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { api } from "@/api/client";
import type { Session } from "@/api/session";
import { Part } from "@/pages/settings/part";
import { projectsQuery } from "@/state/projects";
import { queries } from "@/state/queries";
import { DialogForm, FormDialog } from "@/widgets/dialog_form";
import { Moment } from "@/widgets/moment";
import { Rows, rows } from "@/widgets/rows";

export function Projects(props: { session: Session }): ReactElement {
  const { session } = props;
  const found = useQuery(projectsQuery);
  const [isMaking, setMaking] = useState(false);
  return (
    <>
      <Part
        found={found}
        about="The projects that you see, and what you are in each. Runs, experiments and views belong to one project."
        actions={
          session.is_tenant_admin && (
            <Button
              onClick={() => {
                setMaking(true);
              }}
            >
              New project
            </Button>
          )
        }
      >
        {(projects) => (
          <Rows label="Projects">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">You are</th>
                <th scope="col">Created</th>
              </tr>
            </thead>
            <tbody>
              {projects.map((project) => (
                <tr key={project.name}>
                  <th scope="row" className={rows.wide} title={project.name}>
                    <Link to="/runs" search={{ project: project.name }}>
                      {project.name}
                    </Link>
                  </th>
                  <td>{project.role ?? "–"}</td>
                  <td>
                    <Moment at={project.created} isExact />
                  </td>
                </tr>
              ))}
            </tbody>
          </Rows>
        )}
      </Part>
      <FormDialog
        title="New project"
        isOpen={isMaking}
        onClose={() => {
          setMaking(false);
        }}
      >
        <ProjectForm
          onEnd={() => {
            setMaking(false);
          }}
        />
      </FormDialog>
    </>
  );
}

function ProjectForm(props: { onEnd: () => void }): ReactElement {
  const { onEnd } = props;
  const [name, setName] = useState("");
  return (
    <DialogForm
      verb="Make"
      failure="It was not made"
      isReady={name.trim() !== ""}
      work={() => makeProject(name.trim())}
      onDone={onEnd}
      onCancel={onEnd}
    >
      <TextInput
        label="Name"
        description="Members get roles in it; a project stays"
        required
        maxLength={200}
        data-autofocus
        value={name}
        onChange={(event) => {
          setName(event.currentTarget.value);
        }}
      />
    </DialogForm>
  );
}

async function makeProject(name: string): Promise<void> {
  await api.POST("/v1/projects", { body: { name } });
  await queries.invalidateQueries({ queryKey: projectsQuery.queryKey });
}
