"""Restore: what a backup holds, into nothing else than an empty place.

The backup is read to its end before anything of it is restored. `mapi.serve.half_restored` is the mark
of a home that is not whole yet, `mapi.serve.clients` are the programs that load a dump.
"""

from __future__ import annotations

import asyncio
import hashlib
import tarfile
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from mapi.database.isolation import admin_words
from mapi.database.migrate import make_roles, migrate
from mapi.errors import DatabaseError, MapiError
from mapi.objects.store import ObjectExistsError
from mapi.serve.arriving import end_machine_tokens, tenants_of
from mapi.serve.backup import ASIDE, admin_url_of, store_of
from mapi.serve.backup_file import DUMP, OBJECTS, check_backup, members
from mapi.serve.clients import load_dump
from mapi.serve.half_restored import is_half_restored, mark_restored, mark_restoring
from mapi.serve.own_folder import own_folder
from mapi.serve.platform import LOGIN, database_password, embedded_server, enter_home, login_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from mapi.config import Settings
    from mapi.database.embedded.server import EmbeddedServer
    from mapi.objects.store import ObjectStore
    from mapi.serve.backup_file import Manifest

__all__ = ["restore_backup"]


def restore_backup(settings: Settings, path: Path) -> tuple[Manifest, list[str]]:
    """Restore a backup into an empty home, or into a database and a store without ours.

    One that fails takes back what it brought, and one that is killed is begun anew by the next. An
    object that the store has already, equal to the backup's, is no obstacle and stays in any case.

    Args:
        settings: where to.
        path: the backup.

    Returns:
        What made it, and the names of its tenants.

    Raises:
        DatabaseError: the place is not empty, the backup is not whole, or the database refuses.
        SettingError: settings do not fit each other.
    """
    manifest, checksums = check_backup(path)
    with ExitStack() as undo:
        if settings.database_url is None:
            _enter_new_home(settings, undo)
        # First in but for the home, last out: with the database stopped.
        takes_back = undo.enter_context(ExitStack())
        admin_url, login, password = _empty_database(settings, undo, takes_back)
        is_ours = settings.database_url is None
        make_roles(admin_url, login=login, password=password, sets_password=is_ours)
        # Of a platform of ours nothing lies outside of its home.
        aside = settings.home if is_ours else Path(tempfile.gettempdir())
        folder = undo.enter_context(own_folder(aside, ASIDE))
        dump = folder / DUMP
        arrival = _Arrival(store_of(settings), checksums, brought=[])
        takes_back.callback(lambda: asyncio.run(_take_back(arrival)))
        asyncio.run(_unpack(path, dump, arrival))
        load_dump(settings, url=admin_url, path=dump)
        if settings.database_url is not None:
            takes_back.callback(_drop_schema, admin_url)
        # What came after the backup's version, and what stands beside the schema.
        migrate(admin_url, login=login, password=password)
        tenants = tenants_of(admin_url)
        if settings.database_url is None:
            mark_restored(settings.home)
        else:
            # Anybody who can read a file of that laptop would be an admin of what is others' now.
            url = settings.database_direct_url or settings.database_url
            asyncio.run(end_machine_tokens(url))
        takes_back.pop_all()
    return manifest, tenants


@dataclass(frozen=True, slots=True)
class _Arrival:
    """Where objects are restored to."""

    store: ObjectStore
    checksums: dict[str, str]
    """SHA-256 in hex, by the name of the backup's member."""
    brought: list[str]
    """Keys of the objects that the restore wrote."""


async def _unpack(path: Path, dump: Path, arrival: _Arrival) -> None:
    with tarfile.open(path, mode="r|") as tar:
        for name, content in members(tar):
            if name == DUMP:
                with dump.open("wb") as file:
                    file.writelines(content)
            elif name.startswith(OBJECTS):
                key = name.removeprefix(OBJECTS)
                try:
                    # The store takes no key that leads out of it.
                    await arrival.store.put(key, _async(content))
                    arrival.brought.append(key)
                except ObjectExistsError:
                    await _require_same(arrival, key)


async def _require_same(arrival: _Arrival, key: str) -> None:
    """Let an object stay that is what the backup has under its key."""
    digest = hashlib.sha256()
    async for chunk in await arrival.store.get(key):
        digest.update(chunk)
    if digest.hexdigest() != arrival.checksums[OBJECTS + key]:
        raise DatabaseError(
            f"The store has another object {key} than the backup, and objects are never replaced. "
            "Restore into an empty store, which MAPI_BUNDLES_URL or --home names, or move that "
            "object away."
        )


def _take_back_home(home: Path, server: EmbeddedServer) -> None:
    server.discard()
    # Only now: the mark stays as long as the database does.
    mark_restored(home)


def _drop_schema(admin_url: str) -> None:
    """Take back what was loaded into a database that had no schema of ours."""
    with suppress(psycopg.Error), psycopg.connect(admin_url) as connection:
        connection.execute("drop schema if exists mapi cascade")


async def _take_back(arrival: _Arrival) -> None:
    """Delete what a restore wrote that failed; what cannot be deleted does not stop the next."""
    with suppress(MapiError):
        for key in arrival.brought:
            await arrival.store.delete(key)


async def _async(content: Iterator[bytes]) -> AsyncIterator[bytes]:
    for chunk in content:
        yield chunk


def _empty_database(
    settings: Settings, undo: ExitStack, takes_back: ExitStack
) -> tuple[str, str, str | None]:
    """Return how to reach an empty database: as who may create, as whom the server connects.

    Args:
        settings: where it is.
        undo: gets what is to be undone in any case.
        takes_back: gets what is to be undone where the restore fails.
    """
    if settings.database_url is None:
        server = _new_server(settings, undo, takes_back)
        return server.superuser_url(), LOGIN, database_password(settings)
    admin_url = admin_url_of(settings.database_admin_url)
    try:
        with psycopg.connect(admin_url) as connection:
            found = connection.execute("select to_regnamespace('mapi') is not null").fetchone()
    except psycopg.Error as error:
        raise DatabaseError(
            f"The database cannot be reached: {admin_words(admin_url, error)}"
        ) from error
    if found and found[0]:
        raise DatabaseError(
            "The database has a schema 'mapi'. Restore into a new database, named in "
            "MAPI_DATABASE_ADMIN_URL and MAPI_DATABASE_URL. (Where a restore into this one was "
            "killed, what is there is all of the backup, and `mapi migrate` completes it.)"
        )
    password = psycopg.conninfo.conninfo_to_dict(settings.database_url).get("password")
    return admin_url, login_of(settings.database_url), None if password is None else str(password)


def _enter_new_home(settings: Settings, undo: ExitStack) -> None:
    """Become the one who works in a home without a database, or with one that a restore left unfinished."""
    _refuse_database(settings.home)
    enter_home(settings, undo)
    # Somebody may have been faster.
    _refuse_database(settings.home)


def _refuse_database(home: Path) -> None:
    if (home / "postgres" / "data").exists() and not is_half_restored(home):
        raise DatabaseError(f"{home} has a database. Restore into a new home, named with --home.")


def _new_server(settings: Settings, undo: ExitStack, takes_back: ExitStack) -> EmbeddedServer:
    """Start a new database in the home; one that a restore was killed over makes way."""
    server = embedded_server(settings)
    mark_restoring(settings.home)
    takes_back.callback(_take_back_home, settings.home, server)
    server.discard()
    undo.callback(server.stop)
    server.start()
    return server
