"""What an operator makes or deletes, and was killed at, is completed by the same command again."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import psycopg
import pytest
from tests.mapi.blocking import until_waited_for
from tests.mapi.cutting import CutDatabase, CutStore, Fuse, KilledError
from tests.mapi.tenants import make_tenant
from tests.mapi.tenants_access import give_token, value_of

from mapi.errors import InvalidError, SettingError
from mapi.serve.administration import Administration
from mapi.tracking.leftovers import collect_leftovers
from mapi.wire.enums import Scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.mapi.tenants import Tenant

    from mapi.database.door import Database
    from mapi.database.embedded.server import EmbeddedServer

pytestmark = pytest.mark.anyio

#: More than any of these jobs has.
NEVER: Final = 10_000


@contextlib.asynccontextmanager
async def desk_of(
    server: EmbeddedServer, database_url: str, home: Path, fuse: Fuse
) -> AsyncIterator[Administration]:
    door = CutDatabase(database_url, fuse)
    await door.open()
    try:
        yield Administration(door, server.superuser_url(), CutStore(home, fuse))
    finally:
        await door.close()


async def fill(tenant: Tenant, home: Path) -> None:
    """Give a tenant two runs with an object each, and one object of no row."""
    store = CutStore(home, Fuse(NEVER))
    for number in range(2):
        run_id = tenant.run()
        key = f"media/{tenant.id}/{number}"
        with psycopg.connect(tenant.server.superuser_url()) as connection:
            connection.execute(
                "insert into mapi.run_media (tenant_id, id, run_id, key, labels, labels_hash, step,"
                " format, size_bytes, sha256, object_key, source)"
                " values (%s, gen_random_uuid(), %s, 'a', '{}', 0, 0, 'png', 7, '', %s, 'api')",
                [tenant.id, run_id, key],
            )
        await store.put(key, b"picture")
    await store.put(f"uploads/{tenant.id}/never-recorded", b"upload")


def left_of(tenant: Tenant, home: Path) -> dict[str, object]:
    found: dict[str, object] = {
        "objects": sorted(
            str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()
        )
    }
    with psycopg.connect(tenant.server.superuser_url()) as connection:
        for table in ("runs", "run_media", "projects"):
            row = connection.execute(
                f"select count(*) from mapi.{table} where tenant_id = %s".encode(), [tenant.id]
            ).fetchone()
            found[table] = row
        row = connection.execute(
            "select count(*) from mapi.tenants where id = %s", [tenant.id]
        ).fetchone()
        found["tenants"] = row
    return found


@pytest.mark.parametrize("what", ["tenant", "project"])
async def test_a_deletion_that_was_killed_anywhere_is_completed_by_the_same_command(
    what: str, server: EmbeddedServer, database: Database, database_url: str, tmp_path: Path
) -> None:
    cuts = 0
    while True:
        tenant, home = make_tenant(server), tmp_path / str(cuts)
        await fill(tenant, home)

        async def delete(desk: Administration, tenant: Tenant = tenant) -> None:
            if what == "tenant":
                await desk.delete_tenant(tenant.name)
            else:
                await desk.delete_project(tenant.name, "default")

        fuse = Fuse(cuts)
        async with desk_of(server, database_url, home, fuse) as desk:
            with contextlib.suppress(KilledError):
                await delete(desk)
        async with desk_of(server, database_url, home, Fuse(NEVER)) as desk:
            # There is none any more: it had come to its end, but for what is collected later.
            with contextlib.suppress(SettingError, InvalidError):
                await delete(desk)
            await collect_leftovers(database, desk.objects, age=timedelta(seconds=-1))
        tenants = 0 if what == "tenant" else 1
        assert left_of(tenant, home) == {
            "objects": [],
            "runs": (0,),
            "run_media": (0,),
            "projects": (0,),
            "tenants": (tenants,),
        }, cuts
        if not fuse.is_burnt:
            break
        cuts += 1
    # Two runs with an object each, and the project.
    assert cuts > 12


async def test_a_tenant_whose_making_was_killed_anywhere_is_completed_by_the_same_command(
    server: EmbeddedServer, database_url: str, tmp_path: Path
) -> None:
    cuts = 0
    while True:
        name, fuse = f"tenant-{uuid.uuid4().hex[:12]}", Fuse(cuts)
        async with desk_of(server, database_url, tmp_path, fuse) as desk:
            with contextlib.suppress(KilledError):
                await desk.make_tenant(name)
        async with desk_of(server, database_url, tmp_path, Fuse(NEVER)) as desk:
            with contextlib.suppress(SettingError):
                await desk.make_tenant(name)
            with pytest.raises(SettingError, match="already"):
                await desk.make_tenant(name)
        with psycopg.connect(server.superuser_url()) as connection:
            found = connection.execute(
                "select project.name, entry.action from mapi.tenants as tenant"
                " join mapi.projects as project on project.tenant_id = tenant.id"
                " join mapi.audit as entry on entry.tenant_id = tenant.id"
                " where tenant.name = %s order by 1, 2",
                [name],
            ).fetchall()
        assert ("default", "tenant.create") in found, cuts
        assert len(found) == len(set(found))
        if not fuse.is_burnt:
            break
        cuts += 1
    assert cuts > 3


async def test_a_tenant_that_is_deleted_has_no_tokens_and_leaves_no_project_that_comes_late(
    server: EmbeddedServer, database_url: str, tmp_path: Path
) -> None:
    tenant = make_tenant(server)
    await fill(tenant, tmp_path)
    give_token(tenant, Scope.ADMIN)
    late_run = (
        "with place as (insert into mapi.projects (tenant_id, name) values (%s, 'late')"
        " returning tenant_id, id) insert into mapi.runs (tenant_id, id, project_id, kind, status)"
        " select tenant_id, gen_random_uuid(), id, 'external', 'running' from place"
    )
    async with desk_of(server, database_url, tmp_path, Fuse(NEVER)) as desk:
        with psycopg.connect(server.superuser_url()) as writer:
            # Of a request that came in before the tokens were revoked.
            writer.execute(late_run, [tenant.id])
            deleting = asyncio.create_task(desk.delete_tenant(tenant.name))
            await until_waited_for(writer)
            counted = "select count(*) from mapi.tokens where tenant_id = %s and revoked is null"
            assert value_of(tenant, counted, tenant.id) == 0
            writer.commit()
        assert (await deleting).purged_runs == 3
    assert left_of(tenant, tmp_path) == {
        "objects": [],
        "runs": (0,),
        "run_media": (0,),
        "projects": (0,),
        "tenants": (0,),
    }


async def test_a_tenant_without_a_project_is_no_unfinished_one(
    server: EmbeddedServer, database_url: str, tmp_path: Path
) -> None:
    name = f"tenant-{uuid.uuid4().hex[:12]}"
    async with desk_of(server, database_url, tmp_path, Fuse(NEVER)) as desk:
        await desk.make_tenant(name)
        await desk.delete_project(name, "default")
        with pytest.raises(SettingError, match="already"):
            await desk.make_tenant(name)
