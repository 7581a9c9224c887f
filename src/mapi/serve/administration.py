"""What an operator does from a shell on the server's machine, past the rights of any tenant.

The same rooms do it that serve the API, and the audit names the operator.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.types.json import Jsonb

from mapi.access.audit import OPERATOR, record
from mapi.access.limits import changed_limits, merged_limits, read_limits
from mapi.access.notices import tell_of_rights
from mapi.access.projects import create_project
from mapi.database.door import Database, Reach
from mapi.database.migrate import ensure_tenant
from mapi.database.queries import query
from mapi.errors import InvalidError, SettingError, StateError
from mapi.objects.opening import open_store
from mapi.series.names import check_title
from mapi.serve.housekeeping import compact_all, tidy
from mapi.serve.platform import LOCAL_LIMITS, LOCAL_PROJECT, LOCAL_TENANT, reach_foundation
from mapi.serve.tenant_desk import TenantDesk
from mapi.tracking.closing import delete_project
from mapi.tracking.foreseeing import foresee
from mapi.tracking.freed import Freed
from mapi.tracking.keeping import add_rule, list_rules, remove_rule
from mapi.tracking.letting_go import let_go

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from mapi.config import Settings
    from mapi.objects.store import ObjectStore
    from mapi.tracking.freed import Retention
    from mapi.tracking.keeping import Rule
    from mapi.wire.enums import Budget

__all__ = ["Administration", "administration"]


#: Tenants that an error names.
_NAMED_MAX: Final = 10
#: What the parts of a rule are called on the command line.
_RULE: Final = {"/filter": "--filter", "/sort": "--by", "/best": "--best"}


class Administration:
    """The platform as its operator reaches it.

    Args:
        database: the door, as the server opens it.
        admin_url: connects as a role that may create; ``None`` where nobody named one.
        objects: the store.
        local_limits: what the tenant of one's own machine begins with; elsewhere nothing.
    """

    def __init__(
        self,
        database: Database,
        admin_url: str | None,
        objects: ObjectStore,
        *,
        local_limits: Mapping[str, str] | None = None,
    ) -> None:
        self._local_limits = local_limits or {}
        self.database = database
        self.objects = objects
        self._admin_url = admin_url

    @asynccontextmanager
    async def tenant(self, name: str) -> AsyncIterator[TenantDesk]:
        """Begin a transaction for a tenant.

        Raises:
            SettingError: there is none of this name.
        """
        numbers = {found: number for number, found in await self.tenants()}
        if name not in numbers:
            known = ", ".join(list(numbers)[:_NAMED_MAX]) or "none"
            more = ", …" if len(numbers) > _NAMED_MAX else ""
            raise SettingError(
                f"There is no tenant {name!r}; there are: {known}{more}. --tenant names the one that "
                "is meant, `mapi admin tenant create` makes another."
            )
        tenant_id = numbers[name]
        async with self.database.transaction(Reach(tenant_id)) as connection:
            yield TenantDesk(tenant_id, connection)

    async def tenants(self) -> list[tuple[int, str]]:
        """Return numbers and names of all tenants."""
        async with self.database.outside() as connection:
            cursor = await connection.execute(query("access.list_tenants"))
            return [(int(number), str(name)) for number, name in await cursor.fetchall()]

    async def make_tenant(self, name: str) -> int:
        """Make a tenant with the project ``default``; one that was not made to its end gets it.

        Raises:
            SettingError: the name breaks its rule, there is one of this name, or nobody named a role that may.
        """
        wrong = check_title("the name of a tenant", name)
        if wrong is not None:
            raise SettingError(f"{wrong}.")
        admin_url = self._needed_admin_url()
        if name in {found for _, found in await self.tenants()}:
            async with self.tenant(name) as desk:
                cursor = await desk.connection.execute(query("access.is_tenant_whole"))
                if await cursor.fetchone() == (True,):
                    raise SettingError(f"There is a tenant {name!r} already.")
        tenant_id = ensure_tenant(admin_url, name)
        async with self.tenant(name) as desk:
            await create_project(desk.connection, desk.principal, LOCAL_PROJECT)
            await record(desk.connection, OPERATOR, "tenant.create", name)
        return tenant_id

    async def delete_tenant(self, name: str) -> Freed:
        """Delete a tenant for good, with all that it has.

        Raises:
            SettingError: there is none of this name, or nobody named a role that may.
        """
        admin_url = self._needed_admin_url()
        total = Freed()
        async with self.tenant(name) as desk:
            tenant_id, principal = desk.principal.tenant_id, desk.principal
            # Nobody makes another project, or follows one.
            await desk.connection.execute(query("access.revoke_all"))
            await tell_of_rights(desk.connection)
        is_gone = False
        while not is_gone:
            async with self.tenant(name) as desk:
                cursor = await desk.connection.execute(query("access.list_project_ids"))
                projects = [number for (number,) in await cursor.fetchall()]
            for number in projects:
                total += await delete_project(
                    self.database,
                    self.objects,
                    Reach(tenant_id),
                    project_id=number,
                    principal=principal,
                )
            is_gone = await asyncio.to_thread(_drop_empty_tenant, admin_url, tenant_id)
        for folder in (f"media/{tenant_id}", f"uploads/{tenant_id}"):
            keys = [head.key async for head in self.objects.heads(folder)]
            await let_go(self.database, self.objects, keys)
        return total

    async def delete_project(self, tenant: str, project: str) -> Freed:
        """Delete a project for good, with all that it has.

        Raises:
            SettingError: there is no such tenant.
            InvalidError: it has no such project.
        """
        async with self.tenant(tenant) as desk:
            project_id = await desk.project(project)
            assert project_id is not None
            await record(desk.connection, OPERATOR, "project.delete", project)
        return await delete_project(
            self.database,
            self.objects,
            Reach(desk.principal.tenant_id),
            project_id=project_id,
            principal=desk.principal,
        )

    async def retain(
        self,
        retention: Retention,
        *,
        failed: Callable[[str, Exception], None],
        told: Callable[[int], None] | None = None,
    ) -> Freed:
        """Delete what is over in every tenant; where it fails in one, the others go on.

        Args:
            retention: how long what is kept.
            failed: hears the name of each tenant where it failed, and why.
            told: hears now and then how many more rows are gone.

        Raises:
            StateError: the server is at it.
        """
        freed = await tidy(
            self.database,
            self.objects,
            retention,
            told=told,
            failed=await self._by_name(failed),
        )
        if freed is None:
            raise StateError("The server is deleting what is over just now; look again later.")
        return freed

    async def foresee(self, retention: Retention) -> list[tuple[str, str, Freed]]:
        """Return by tenant and project what `retain` would delete now."""
        return [
            (tenant, project, freed)
            for tenant_id, tenant in await self.tenants()
            for project, freed in (
                await foresee(self.database, Reach(tenant_id), retention=retention)
            ).items()
        ]

    async def add_rule(
        self, tenant: str, project: str, *, filters: str, sort: str, best: int | None
    ) -> int:
        """Keep runs of a project whatever their age; return the number of the rule.

        Raises:
            SettingError: there is no such tenant.
            InvalidError: there is no such project, or a text breaks the grammar.
        """
        async with self.tenant(tenant) as desk:
            project_id = await desk.project(project)
            assert project_id is not None
            try:
                number = await add_rule(
                    desk.connection, project_id, filters=filters, sort=sort, best=best
                )
            except InvalidError as error:
                raise InvalidError(
                    [replace(one, pointer=_RULE[one.pointer]) for one in error.faults]
                ) from None
            await record(
                desk.connection,
                OPERATOR,
                "retention.set",
                project,
                rule=number,
                filter=filters,
                by=sort,
                best=best,
            )
        return number

    async def rules(self, tenant: str) -> list[Rule]:
        """Return the rules that keep runs of a tenant.

        Raises:
            SettingError: there is no such tenant.
        """
        async with self.tenant(tenant) as desk:
            return await list_rules(desk.connection)

    async def remove_rule(self, tenant: str, number: int) -> Rule:
        """Delete a rule and return what it was.

        Raises:
            SettingError: there is no such tenant.
            NotFoundError: it has no such rule.
        """
        async with self.tenant(tenant) as desk:
            rule = await remove_rule(desk.connection, number)
            await record(desk.connection, OPERATOR, "retention.remove", rule.project, rule=number)
        return rule

    async def compact(
        self,
        hours: int,
        *,
        failed: Callable[[str, Exception], None],
        told: Callable[[int], None] | None = None,
    ) -> int:
        """Compact the runs of every tenant that ended so many hours ago; return how many points.

        Args:
            hours: how long ago a run must have ended.
            failed: hears the name of each tenant where it failed, and why.
            told: hears after each run how many of its points moved.

        Raises:
            StateError: the server is at it.
        """
        points = await compact_all(
            self.database, hours=hours, told=told, failed=await self._by_name(failed)
        )
        if points is None:
            raise StateError("The server is compacting just now; look again later.")
        return points

    async def _by_name(
        self, failed: Callable[[str, Exception], None]
    ) -> Callable[[int, Exception], None]:
        """Return what hears of tenants by number, and tells them by name."""
        names = dict(await self.tenants())
        # One that was made meanwhile is told by its number.
        return lambda number, error: failed(names.get(number, str(number)), error)

    async def set_limits(
        self, tenant: str, project: str | None, changes: Mapping[Budget, int | str | None]
    ) -> dict[str, Any]:
        """Change the limits of a tenant or of one project, and return what holds now.

        Raises:
            SettingError: there is no such tenant, or nobody named a role that may.
            InvalidError: there is no such project.
        """
        async with self.tenant(tenant) as desk:
            project_id = await desk.project(project)
            of_tenant, of_project = await read_limits(desk.connection, project_id)
            if project_id is None and tenant == LOCAL_TENANT:
                # On one's own machine the default is what this tenant began with.
                changes = {
                    budget: self._local_limits.get(budget.value) if limit is None else limit
                    for budget, limit in changes.items()
                }
            changed = changed_limits(of_tenant if project_id is None else of_project, changes)
            merged = (
                merged_limits(changed) if project_id is None else merged_limits(of_tenant, changed)
            )
            if project_id is not None:
                await desk.connection.execute(
                    query("access.set_project_limits"),
                    {"project": project_id, "limits": Jsonb(changed)},
                )
            else:
                self._set_tenant_limits(desk.principal.tenant_id, changed)
            await record(
                desk.connection, OPERATOR, "limits.set", project or tenant, limits=changed
            )
        return merged

    def _set_tenant_limits(self, tenant_id: int, limits: dict[str, Any]) -> None:
        # The server's own role cannot: a tenant's limits are not the tenant's to set.
        with psycopg.connect(self._needed_admin_url()) as connection:
            connection.execute("set local role mapi_owner")
            connection.execute("select set_config('mapi.tenant', %s, true)", [str(tenant_id)])
            connection.execute(
                "update mapi.tenants set limits = %s where id = %s", [Jsonb(limits), tenant_id]
            )

    def _needed_admin_url(self) -> str:
        if self._admin_url is None:
            raise SettingError(
                "This needs MAPI_DATABASE_ADMIN_URL, the database as a role that may create."
            )
        return self._admin_url


def _drop_empty_tenant(admin_url: str, tenant_id: int) -> bool:
    """Delete a tenant, unless a project was made meanwhile; the server's own role cannot."""
    with psycopg.connect(admin_url) as connection:
        connection.execute("set local role mapi_owner")
        connection.execute("select set_config('mapi.tenant', %s, true)", [str(tenant_id)])
        connection.execute("select set_config('mapi.projects', '*', true)")
        # Whoever makes a project just now is waited for.
        connection.execute("select from mapi.tenants where id = %s for update", [tenant_id])
        found = connection.execute(
            "select from mapi.projects where tenant_id = %s limit 1", [tenant_id]
        )
        if found.fetchone() is not None:
            return False
        connection.execute("delete from mapi.tenants where id = %s", [tenant_id])
    return True


@asynccontextmanager
async def administration(
    settings: Settings, *, is_started: bool = True
) -> AsyncIterator[Administration]:
    """Reach the platform of the settings, whether its server runs or not.

    Args:
        settings: what the operator decides.
        is_started: a database of the home that does not run is started for it.

    Raises:
        DatabaseError: the database cannot be started or reached.
        SettingError: settings do not fit each other.
    """
    with ExitStack() as undo:
        foundation = reach_foundation(settings, undo, is_started=is_started)
        database = Database(foundation.database_url, connections=2, pooled=settings.is_pooled)
        await database.open()
        try:
            objects, _ = open_store(
                settings.bundles_url, home=settings.home, upload_url="", secret=os.urandom(32)
            )
            local_limits = LOCAL_LIMITS if settings.database_url is None else None
            yield Administration(
                database, foundation.admin_url, objects, local_limits=local_limits
            )
        finally:
            await database.close()
