"""Members: which user has which role, in a project or in all of the tenant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from psycopg.rows import dict_row

from mapi.access.audit import record
from mapi.access.notices import tell_of_rights
from mapi.access.projects import find_project
from mapi.access.tokens import end_tokens_of
from mapi.database.queries import query
from mapi.errors import Fault, InvalidError, NotFoundError
from mapi.series.names import check_title
from mapi.wire.administration import MemberFacts, MemberPage
from mapi.wire.enums import Role, Scope

if TYPE_CHECKING:
    from mapi.access.rights import Principal
    from mapi.database.door import Connection
    from mapi.wire.administration import MemberBody

__all__ = ["list_members", "remove_member", "set_member"]

#: One answer; a tenant with more members has an identity provider to look at.
_LISTED_MAX: Final = 2_000


async def set_member(
    connection: Connection, principal: Principal, sent: MemberBody
) -> MemberFacts:
    """Give a user a role; a user who is not known yet is made.

    Raises:
        InvalidError: the user's name breaks its rule, or there is no such project.
        ForbiddenError: the principal is no admin there.
    """
    wrong = check_title("the name of a user", sent.user)
    if wrong is not None:
        raise InvalidError(Fault("/user", wrong))
    project_id = await _place(connection, principal, sent.project)
    cursor = await connection.execute(query("access.ensure_user"), {"name": sent.user})
    (user_id,) = await cursor.fetchone() or (None,)
    cursor = await connection.execute(
        query("access.set_member"),
        {"user": user_id, "project": project_id, "role": sent.role.value},
    )
    (created,) = await cursor.fetchone() or (None,)
    await record(
        connection,
        principal.name,
        "member.set",
        sent.user,
        role=sent.role.value,
        project=sent.project,
    )
    assert created is not None
    await tell_of_rights(connection)
    return MemberFacts(user=sent.user, role=sent.role, project=sent.project, created=created)


async def remove_member(
    connection: Connection, principal: Principal, *, user: str, project: str | None
) -> None:
    """Take a user's role away; the user's tokens can do nothing there from now on.

    Whose last role it was has no tokens and no sessions any more: a role that is given later does not
    bring them back.

    Raises:
        InvalidError: there is no such project.
        ForbiddenError: the principal is no admin there.
        NotFoundError: the user has no role there.
    """
    project_id = await _place(connection, principal, project)
    cursor = await connection.execute(query("access.lock_user"), {"name": user})
    (user_id,) = await cursor.fetchone() or (None,)
    cursor = await connection.execute(
        query("access.remove_member"), {"user": user_id, "project": project_id}
    )
    row = await cursor.fetchone()
    if row is None:
        where = (
            "that holds in every project" if project is None else f"in the project {project[:200]}"
        )
        raise NotFoundError(
            f"{user[:200]!r} has no role {where}: the list of members says who has which."
        )
    ended = await end_tokens_of(connection, user_id)
    await record(
        connection,
        principal.name,
        "member.remove",
        user,
        role=row[0],
        project=project,
        ended_tokens=ended,
    )
    await tell_of_rights(connection)


async def list_members(connection: Connection) -> MemberPage:
    """Return the members of the tenant and of the projects that the transaction sees."""
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query("access.list_members"), {"limit": _LISTED_MAX})
        rows = await cursor.fetchall()
    return MemberPage(members=[MemberFacts(**{**row, "role": Role(row["role"])}) for row in rows])


async def _place(connection: Connection, principal: Principal, project: str | None) -> int | None:
    found = (
        None if project is None else await find_project(connection, project, pointer="/project")
    )
    principal.require(Scope.ADMIN, found)
    return found
