/** What the viewer may do. The server decides; pages only leave out what it would refuse. */
import type { Session } from "@/api/session";

type Rights = Pick<Session, "scopes" | "roles" | "is_service" | "project">;

/** Says whether the viewer may write runs, experiments and views of a project. */
export function mayWrite(session: Rights | undefined, project: string | null): boolean {
  return may(session, project, ["runs:write", "admin"], ["runner", "admin"]);
}

/** Says whether the viewer may administrate a project; without one, all of the tenant. */
export function mayAdministrate(session: Rights | undefined, project: string | null): boolean {
  return may(session, project, ["admin"], ["admin"]);
}

function may(
  session: Rights | undefined,
  project: string | null,
  scopes: readonly string[],
  roles: readonly string[],
): boolean {
  if (session === undefined) return false;
  if (!session.scopes.some((scope) => scopes.includes(scope))) return false;
  if (session.project !== null && session.project !== project) return false;
  if (session.is_service) return true;
  const held = [session.roles["*"], project === null ? undefined : session.roles[project]];
  return held.some((role) => role !== undefined && roles.includes(role));
}
