/** Projects: which there are for the viewer, and what the viewer is in each. */
import { Button, Group, Modal, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { api } from "@/api/client";
import type { Session } from "@/api/session";
import { Part } from "@/pages/settings/part";
import classes from "@/pages/settings/settings.module.css";
import { projectsQuery } from "@/state/projects";
import { queries } from "@/state/queries";
import { Failure } from "@/widgets/failure";
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
      <Modal
        opened={isMaking}
        onClose={() => {
          setMaking(false);
        }}
        title="New project"
      >
        <ProjectForm
          onEnd={() => {
            setMaking(false);
          }}
        />
      </Modal>
    </>
  );
}

function ProjectForm(props: { onEnd: () => void }): ReactElement {
  const { onEnd } = props;
  const [name, setName] = useState("");
  const make = useMutation({
    mutationFn: async () => {
      await api.POST("/v1/projects", { body: { name: name.trim() } });
      await queries.invalidateQueries({ queryKey: projectsQuery.queryKey });
    },
    onSuccess: onEnd,
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
        description="Members get roles in it; a project stays"
        required
        maxLength={200}
        data-autofocus
        value={name}
        onChange={(event) => {
          setName(event.currentTarget.value);
        }}
      />
      {make.error !== null && <Failure error={make.error} title="It was not made" />}
      <Group gap={8}>
        <Button type="submit" loading={make.isPending} disabled={name.trim() === ""}>
          Make
        </Button>
        <Button variant="default" onClick={onEnd}>
          Cancel
        </Button>
      </Group>
    </form>
  );
}
