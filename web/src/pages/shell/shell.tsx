/** What stands around every page: where to go, which project, who is signed in. */
import {
  Burger,
  Button,
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
import { type ComponentProps, type ReactElement, useEffect, useRef } from "react";
import { ApiError } from "@/api/client";
import { signOut, type Session } from "@/api/session";
import { keepProject } from "@/pages/address";
import classes from "@/pages/shell/shell.module.css";
import { chosenProject, projectsQuery } from "@/state/projects";
import { queries, sessionQuery } from "@/state/queries";
import { Failure } from "@/widgets/failure";
import { HEAD_PART_ID, SIDE_PART_ID } from "@/widgets/shell_parts";

type PlaceProps = Omit<NavLinkProps, "children"> & Omit<ComponentProps<"a">, "children" | "style">;
/** The kit's entry of a menu, as a link of the router. */
const Place = createLink((props: PlaceProps) => <NavLink component="a" {...props} />);
const PLACES = [
  { label: "Runs", to: "/runs" },
  { label: "Experiments", to: "/experiments" },
  { label: "Settings", to: "/settings" },
] as const;

/** The pages of one run and of one experiment. */
const OF_ONE = /^\/(runs|experiments)\/./;

export function Shell(): ReactElement {
  const session = useQuery(sessionQuery);
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const isSignedOut = session.error instanceof ApiError && session.error.status === 401;
  useAnewAfter(isSignedOut);
  // What somebody has open stays: it may hold what they have typed.
  const isShown = session.data !== undefined;
  if (isSignedOut && !isShown) {
    goToSignIn(true);
    return <p className={classes.wait}>Going to sign in …</p>;
  }
  // Who is known to be signed in goes on through an outage: the page says what it cannot read.
  if (session.error && !isShown) {
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
        <span id={HEAD_PART_ID} className={classes.headPart} />
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
      <main className={classes.main}>
        {isSignedOut && <SignedOut />}
        {isShown && <Outlet />}
      </main>
    </div>
  );
}

/** Reads all anew once somebody who was signed out is in again. */
function useAnewAfter(isSignedOut: boolean): void {
  const wasSignedOut = useRef(false);
  useEffect(() => {
    if (wasSignedOut.current && !isSignedOut) {
      void queries.invalidateQueries({
        predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0],
      });
    }
    wasSignedOut.current = isSignedOut;
  }, [isSignedOut]);
}

/** What a page says whose session has ended while it was open. */
function SignedOut(): ReactElement {
  return (
    <div className={classes.signedOut} role="alert">
      <span>
        <strong>You are signed out.</strong> The session has ended: what stands here is as it was
        then, and nothing can be changed.
      </span>
      <Button
        onClick={() => {
          goToSignIn(true);
        }}
      >
        Sign in again
      </Button>
    </div>
  );
}

/** @param isBack - Whether the page that is shown comes after the sign-in. */
function goToSignIn(isBack: boolean): void {
  const { pathname, search } = window.location;
  const next = isBack ? `?next=${encodeURIComponent(pathname + search)}` : "";
  window.location.assign(`/sign-in${next}`);
}

function ProjectChoice(): ReactElement | null {
  const projects = useQuery(projectsQuery);
  const { project } = useSearch({ from: "__root__" });
  const navigate = useNavigate();
  const path = useRouterState({ select: (state) => state.location.pathname });
  if (!projects.data) return null;
  const names = projects.data.map(({ name }) => name);
  // What a page of one thing shows is in a project of its own, which stands in the address soon.
  const chosen =
    project === undefined && OF_ONE.test(path) ? null : chosenProject(project, projects.data);
  const choose = (name: string): void => {
    if (path === "/settings") {
      void navigate({ from: path, to: path, search: (before) => ({ ...before, project: name }) });
    } else {
      // What is open belongs to the other project.
      void navigate({
        to: path === "/experiments" ? path : "/runs",
        search: { project: name },
      });
    }
  };
  return (
    <Select
      aria-label="Project"
      className={classes.project}
      placeholder="…"
      data={chosen === null || names.includes(chosen) ? names : [chosen, ...names]}
      value={chosen}
      allowDeselect={false}
      searchable
      onChange={(name) => {
        if (name !== null) choose(name);
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
