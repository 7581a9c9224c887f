"""What an operator does in one tenant: tokens, links that sign in, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mapi.access.audit import OPERATOR, record
from mapi.access.limits import merged_limits, read_limits
from mapi.access.projects import find_project
from mapi.access.rights import Principal
from mapi.access.sessions import PEOPLE_SCOPES, write_sign_in_link
from mapi.access.tokens import insert_token, new_token
from mapi.database.queries import query
from mapi.errors import Fault, InvalidError
from mapi.series.names import check_title
from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from datetime import datetime

    from mapi.database.door import Connection

__all__ = ["TenantDesk"]


class TenantDesk:
    """One tenant, and a transaction to work in."""

    def __init__(self, tenant_id: int, connection: Connection) -> None:
        self.connection = connection
        self.principal = Principal(tenant_id, OPERATOR, "", frozenset({Scope.ADMIN}))

    async def project(self, name: str | None) -> int | None:
        """Return the number of a project; ``None`` is all of the tenant.

        Raises:
            InvalidError: there is none of this name.
        """
        if name is None:
            return None
        return await find_project(self.connection, name, pointer="--project")

    async def make_token(
        self,
        name: str,
        *,
        scopes: list[Scope],
        user: str | None,
        project: str | None,
        expires: datetime | None,
    ) -> str:
        """Make a token and return its text, the only time that it is seen.

        Raises:
            InvalidError: the name breaks its rule, or there is no such user or project.
        """
        wrong = check_title("the name of a token", name)
        if wrong is not None:
            raise InvalidError(Fault("NAME", wrong))
        user_id = await self._user(user)
        token = new_token()
        await insert_token(
            self.connection,
            token,
            name=name,
            scopes=scopes,
            user_id=user_id,
            project_id=await self.project(project),
            expires=expires,
        )
        await record(
            self.connection,
            OPERATOR,
            "token.create",
            token.id,
            name=name,
            scopes=[scope.value for scope in scopes],
            user=user,
            project=project,
        )
        return token.text

    async def make_sign_in_link(self, user: str | None) -> str:
        """Make a link that signs a browser in, and return its code, the only time that it is seen.

        Args:
            user: whose session it begins, with their rights; `None` is the operator, who may do everything.

        Raises:
            InvalidError: there is no such user.
        """
        user_id = await self._user(user)
        name = OPERATOR if user is None else user
        code = await write_sign_in_link(
            self.connection, name=name, scopes=PEOPLE_SCOPES, user_id=user_id
        )
        await record(self.connection, OPERATOR, "sign_in.link", name)
        return code

    async def _user(self, name: str | None) -> int | None:
        if name is None:
            return None
        cursor = await self.connection.execute(query("access.find_user"), {"name": name})
        row = await cursor.fetchone()
        if row is None:
            raise InvalidError(
                Fault("--user", f"there is no user {name!r}; `mapi admin member set` makes one")
            )
        return int(row[0])

    async def limits(self, project: str | None) -> dict[str, Any]:
        """Return what a run of the project may keep."""
        return merged_limits(*await read_limits(self.connection, await self.project(project)))
