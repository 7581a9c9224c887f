/** What stands around every page: where to go, which project, who is signed in. */
import {
  Burger,
  Menu,
  NavLink,
  type NavLinkProps,
  Select,
  UnstyledButton,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import {
  createLink,
  Link,
  Outlet,
  useNavigate,
  useRouterState,
  useSearch,
} from "@tanstack/react-router";
import type { ComponentProps, ReactElement } from "react";
import { ApiError } from "@/api/client";
import { signOut, type Session } from "@/api/session";
import classes from "@/pages/shell/shell.module.css";
import { chosenProject, projectsQuery } from "@/state/projects";
import { queries, sessionQuery } from "@/state/queries";
import { Failure } from "@/widgets/failure";
import { SIDE_PART_ID } from "@/widgets/side_part";

type PlaceProps = Omit<NavLinkProps, "children"> & Omit<ComponentProps<"a">, "children" | "style">;
/** The kit's entry of a menu, as a link of the router. */
const Place = createLink((props: PlaceProps) => <NavLink component="a" {...props} />);
const PLACES = [
  { label: "Runs", to: "/runs" },
  { label: "Experiments", to: "/experiments" },
  { label: "Settings", to: "/settings" },
] as const;

export function Shell(): ReactElement {
  const session = useQuery(sessionQuery);
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  if (session.error instanceof ApiError && session.error.status === 401) {
    goToSignIn(true);
    return <p className={classes.wait}>Going to sign in …</p>;
  }
  // Who is known to be signed in goes on through an outage: the page says what it cannot read.
  if (session.error && session.data === undefined) {
    return <Failure error={session.error} onRetry={() => void session.refetch()} />;
  }
  return (
    <div className={classes.shell}>
      <header className={classes.header}>
        <Burger
          opened={isOpen}
          onClick={toggle}
          className={classes.burger}
          size="sm"
          aria-label="Menu"
          aria-expanded={isOpen}
        />
        <Link to="/runs" search={keepProject} className={classes.brand}>
          <img src="/icon.svg" alt="" width={20} height={20} /> mapi
        </Link>
        <ProjectChoice />
        <span className={classes.rest} />
        {session.data && <Person session={session.data} />}
      </header>
      <nav className={classes.navbar} data-open={isOpen} aria-label="Places">
        {PLACES.map(({ label, to }) => (
          <Place
            key={to}
            to={to}
            search={keepProject}
            label={label}
            active={path === to || path.startsWith(`${to}/`)}
            onClick={close}
          />
        ))}
        <div id={SIDE_PART_ID} />
      </nav>
      <main className={classes.main}>{session.data && <Outlet />}</main>
    </div>
  );
}

/** @param isBack - Whether the page that is shown comes after the sign-in. */
function goToSignIn(isBack: boolean): void {
  const { pathname, search } = window.location;
  const next = isBack ? `?next=${encodeURIComponent(pathname + search)}` : "";
  window.location.assign(`/sign-in${next}`);
}

/** A way to another page stays in the project. */
function keepProject(previous: { project?: string | undefined }): { project?: string } {
  return previous.project === undefined ? {} : { project: previous.project };
}

function ProjectChoice(): ReactElement | null {
  const projects = useQuery(projectsQuery);
  const { project } = useSearch({ from: "__root__" });
  const navigate = useNavigate();
  if (!projects.data) return null;
  return (
    <Select
      aria-label="Project"
      className={classes.project}
      data={projects.data.map(({ name }) => name)}
      value={chosenProject(project, projects.data)}
      allowDeselect={false}
      searchable
      onChange={(name) => {
        if (name !== null) void navigate({ to: "/runs", search: { project: name } });
      }}
    />
  );
}

function Person(props: { session: Session }): ReactElement {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <UnstyledButton className={classes.person}>{props.session.name}</UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Theme</Menu.Label>
        {(["auto", "light", "dark"] as const).map((scheme) => (
          <Menu.Item
            key={scheme}
            aria-current={colorScheme === scheme}
            onClick={() => {
              setColorScheme(scheme);
            }}
          >
            {colorScheme === scheme ? "✓ " : ""}
            {scheme === "auto" ? "As the system" : scheme === "light" ? "Light" : "Dark"}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item
          onClick={() => {
            void signOut().then(() => {
              queries.clear();
              goToSignIn(false);
            });
          }}
        >
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
