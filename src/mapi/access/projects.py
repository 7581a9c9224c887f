"""Projects: what runs, members and limits belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mapi.access.audit import record
from mapi.database.queries import query
from mapi.errors import Fault, InvalidError, NameTakenError, QuotaError
from mapi.series.names import check_title
from mapi.wire.administration import ProjectFacts, ProjectPage
from mapi.wire.enums import Role, Scope

if TYPE_CHECKING:
    from mapi.access.rights import Principal
    from mapi.database.door import Connection

__all__ = [
    "EVERY_PROJECT",
    "PROJECTS_MAX",
    "create_project",
    "find_project",
    "list_projects",
    "project_names",
]

#: How lists spell a right in all projects; no project is called so.
EVERY_PROJECT: Final = "*"

#: Of a tenant: the list is one answer, and the setting of a transaction names each project.
PROJECTS_MAX: Final = 1_000


async def find_project(connection: Connection, name: str, *, pointer: str) -> int:
    """Return the number of a project.

    Raises:
        InvalidError: the transaction sees no project of this name.
    """
    cursor = await connection.execute(query("access.find_project"), {"name": name})
    row = await cursor.fetchone()
    if row is None:
        raise InvalidError(
            Fault(
                pointer,
                f"there is no project {name!r} that you can see; make it with `mapi projects create`, or see `mapi projects ls`",
            )
        )
    return int(row[0])


async def create_project(
    connection: Connection, principal: Principal, name: str, *, is_got: bool = False
) -> tuple[ProjectFacts, bool]:
    """Make a project; an admin of the tenant may.

    Args:
        connection: a transaction of the tenant.
        principal: who makes it.
        name: unique in the tenant.
        is_got: whether one of the same name is an answer as well.

    Returns:
        The project, and whether it is new.

    Raises:
        ForbiddenError: the principal is none.
        InvalidError: the name breaks its rule.
        NameTakenError: there is one of this name.
        QuotaError: the tenant has as many as it can.
    """
    principal.require(Scope.ADMIN)
    wrong = check_title("the name of a project", name)
    if name == EVERY_PROJECT:
        wrong = f"{name!r} is how lists spell every project: take another name"
    if wrong is not None:
        raise InvalidError(Fault("/name", wrong))
    known = await _known(connection, name) if is_got else None
    if known is not None:
        return known, False
    cursor = await connection.execute(query("access.count_projects"))
    (count,) = await cursor.fetchone() or (0,)
    if count >= PROJECTS_MAX:
        raise QuotaError(f"The tenant has {count} projects, which is the most it can have.", {})
    cursor = await connection.execute(query("access.insert_project"), {"name": name})
    row = await cursor.fetchone()
    if row is None and is_got:
        # Another one was faster, and has committed: the insert waited for that.
        known = await _known(connection, name)
        if known is not None:
            return known, False
    if row is None:
        raise NameTakenError(
            f"There is a project {name!r} already; take another name, or send ?if_exists=get to have "
            "that one.",
            [Fault("/name", "unique in the tenant")],
        )
    await record(connection, principal.name, "project.create", name)
    return ProjectFacts(name=row[1], created=row[2], role=Role.ADMIN), True


async def _known(connection: Connection, name: str) -> ProjectFacts | None:
    cursor = await connection.execute(query("access.get_project"), {"name": name})
    row = await cursor.fetchone()
    return None if row is None else ProjectFacts(name=row[0], created=row[1], role=Role.ADMIN)


async def list_projects(connection: Connection, principal: Principal) -> ProjectPage:
    """Return the projects that the principal can see."""
    cursor = await connection.execute(query("access.list_projects"), {"limit": PROJECTS_MAX})
    return ProjectPage(
        projects=[
            ProjectFacts(name=name, created=created, role=principal.role_in(project_id))
            for project_id, name, created in await cursor.fetchall()
        ]
    )


async def project_names(connection: Connection) -> dict[int, str]:
    """Return the names of the projects that the transaction sees, by number."""
    cursor = await connection.execute(query("access.list_projects"), {"limit": PROJECTS_MAX})
    return {project_id: name for project_id, name, _ in await cursor.fetchall()}
