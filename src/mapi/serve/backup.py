"""Backup and restore: one file with the database and the objects, for either kind of both.

A tar file, in this order: ``database.dump`` (pg_dump's own format), ``objects/<key>``,
``manifest.json`` (what made it), and ``checksums.json`` with the SHA-256 of each, which only a whole
backup has. A backup is read to its end before anything of it is restored, and is restored into
nothing else than an empty place. `mapi.serve.clients` are the programs that dump and load.

The database is dumped in one snapshot, then the objects are copied that its rows name. A turn is held
meanwhile, under which the server deletes no object (`mapi.tracking.letting_go`): what is replaced or
deleted while the backup is written is in it as it was. What only passes through the store, uploads
and the like, is left out.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import tarfile
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psycopg

from mapi.database.door import Database
from mapi.database.isolation import admin_words
from mapi.database.migrate import make_roles, migrate, migrations, refuse_unreleased
from mapi.database.turns import in_turn
from mapi.errors import DatabaseError, MapiError, NotFoundError, SettingError
from mapi.objects.opening import open_store
from mapi.objects.store import ObjectExistsError
from mapi.serve.arriving import end_machine_tokens, tenants_of
from mapi.serve.clients import dump_schema, load_dump
from mapi.serve.own_folder import folder_to_disk, own_folder
from mapi.serve.platform import (
    LOGIN,
    database_password,
    embedded_server,
    enter_home,
    login_of,
    reach_foundation,
)
from mapi.serve.restoring import is_half_restored, mark_restored, mark_restoring
from mapi.tracking.letting_go import BACKUP_TURN

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from mapi.config import Settings
    from mapi.database.embedded.server import EmbeddedServer
    from mapi.objects.store import ObjectStore

__all__ = ["Manifest", "restore_backup", "write_backup"]

_FORMAT: Final = 1
_MANIFEST, _DUMP, _CHECKSUMS = "manifest.json", "database.dump", "checksums.json"
_OBJECTS: Final = "objects/"
#: What is written under another name until it is whole.
_BACKUP: Final = "backup"
#: How folders for that begin.
_ASIDE: Final = ".mapi-backup-"
#: Folders of the store whose objects no row has: uploads on their way, and what `mapi doctor` tries.
_PASSING: Final = frozenset({"uploads", "doctor"})
_CHUNK_BYTES: Final = 1 << 20
#: The lists in a backup are ours; a longer one is no backup of ours.
_LIST_BYTES_MAX: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Manifest:
    """What made a backup."""

    format: int
    version: str
    """Of the program."""
    created: str
    server_version: int
    """Of PostgreSQL, as it counts."""
    migrations: dict[str, str]
    """Checksums by name."""
    missing_objects: int = 0
    """Objects that rows name and the store has lost."""
    tenants: int = 0
    runs: int = 0
    objects: int = 0


def write_backup(settings: Settings, path: Path, *, version: str) -> Manifest:
    """Write a backup; the server may run meanwhile.

    Args:
        settings: where database and objects are.
        path: of the new file, which nobody else can read.
        version: of the program.

    Raises:
        DatabaseError: the database cannot be dumped.
        SettingError: the file exists or cannot be made, or settings do not fit each other.
    """
    if path.exists():
        raise SettingError(f"{path} exists; name a file that does not.")
    with ExitStack() as undo:
        foundation = reach_foundation(settings, undo)
        admin_url = _admin_url(foundation.admin_url)
        try:
            # In the same folder, so that the rename at the end is one step.
            folder = undo.enter_context(own_folder(path.parent, _ASIDE))
        except OSError as error:
            raise SettingError(
                f"{path.parent} takes no file ({error.strerror}); name one in another directory."
            ) from error
        source = _Source(settings, foundation.database_url, admin_url, version)
        manifest = asyncio.run(_write(source, folder))
        (folder / _BACKUP).rename(path)
        folder_to_disk(path.parent)
    return manifest


@dataclass(frozen=True, slots=True)
class _Source:
    """What is backed up."""

    settings: Settings
    database_url: str
    admin_url: str
    version: str


async def _write(source: _Source, folder: Path) -> Manifest:
    """Write the backup into a folder, in the turn under which no object is deleted."""
    database = Database(source.database_url, connections=2, pooled=source.settings.is_pooled)
    await database.open()
    try:

        async def work() -> Manifest:
            # In a thread: the turn has to be kept meanwhile.
            manifest, keys = await asyncio.to_thread(_dump, source, folder / _DUMP)
            return await _fill(folder, manifest, keys=keys, store=_store(source.settings))

        manifest = await in_turn(database, BACKUP_TURN, work)
    finally:
        await database.close()
    if manifest is None:
        raise DatabaseError(
            "Another backup is being written, or the database was away for too long under this "
            "one. One that was killed is waited for half a minute: try again then."
        )
    return manifest


def _dump(source: _Source, path: Path) -> tuple[Manifest, set[str]]:
    """Dump the database; return what made the dump, and the objects that its rows name."""
    try:
        with psycopg.connect(source.admin_url) as connection:
            connection.execute("set transaction isolation level repeatable read")
            snapshot = connection.execute("select pg_export_snapshot()").fetchone()
            assert snapshot is not None
            manifest = _manifest(connection, source.version)
            counted = connection.execute(
                "select (select count(*) from mapi.tenants), (select count(*) from mapi.runs)"
            ).fetchone()
            assert counted is not None
            manifest = replace(manifest, tenants=int(counted[0]), runs=int(counted[1]))
            rows = connection.execute("select object_key from mapi.run_media").fetchall()
            # The snapshot lasts as long as its transaction.
            dump_schema(
                source.settings, url=source.admin_url, snapshot=str(snapshot[0]), path=path
            )
    except psycopg.Error as error:
        raise DatabaseError(
            f"The database cannot be read: {admin_words(source.admin_url, error)}"
        ) from error
    return manifest, {key for (key,) in rows}


def restore_backup(settings: Settings, path: Path) -> tuple[Manifest, list[str]]:
    """Restore a backup into an empty home, or into a database and a store without ours.

    One that fails takes back what it brought, and one that is killed is begun anew by the next. An object that the store has already, equal to the
    backup's, is no obstacle and stays in any case.

    Args:
        settings: where to.
        path: the backup.

    Returns:
        What made it, and the names of its tenants.

    Raises:
        DatabaseError: the place is not empty, the backup is not whole, or the database refuses.
        SettingError: settings do not fit each other.
    """
    manifest, checksums = _checked(path)
    with ExitStack() as undo:
        if settings.database_url is None:
            _enter_new_home(settings, undo)
        # First in but for the home, last out: with the database stopped.
        takes_back = undo.enter_context(ExitStack())
        admin_url, login, password = _empty_database(settings, undo, takes_back)
        is_ours = settings.database_url is None
        make_roles(admin_url, login=login, password=password, sets_password=is_ours)
        folder = undo.enter_context(own_folder(Path(tempfile.gettempdir()), _ASIDE))
        dump = folder / _DUMP
        arrival = _Arrival(_store(settings), checksums, brought=[])
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
        for name, content in _members(tar):
            if name == _DUMP:
                with dump.open("wb") as file:
                    file.writelines(content)
            elif name.startswith(_OBJECTS):
                key = name.removeprefix(_OBJECTS)
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
    if digest.hexdigest() != arrival.checksums[_OBJECTS + key]:
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


def _admin_url(found: str | None) -> str:
    if found is None:
        raise SettingError(
            "This needs MAPI_DATABASE_ADMIN_URL: the role of MAPI_DATABASE_URL sees one tenant at "
            "a time."
        )
    return found


def _store(settings: Settings) -> ObjectStore:
    store, _ = open_store(
        settings.bundles_url, home=settings.home, upload_url="", secret=os.urandom(32)
    )
    return store


def _manifest(connection: psycopg.Connection[Any], version: str) -> Manifest:
    applied: dict[str, str] = dict(
        connection.execute("select name, checksum from mapi.migrations").fetchall()
    )
    server_version = connection.info.server_version
    return Manifest(_FORMAT, version, datetime.now(UTC).isoformat(), server_version, applied)


async def _fill(
    folder: Path, manifest: Manifest, *, keys: set[str], store: ObjectStore
) -> Manifest:
    """Write the file; return its manifest, with how many objects the store has lost."""
    checksums = {}
    missing = set(keys)
    descriptor = os.open(folder / _BACKUP, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w|") as tar:
        checksums[_DUMP] = await asyncio.to_thread(_add_file, tar, _DUMP, folder / _DUMP)
        content = folder / "object"
        async for head in store.heads():
            if not _is_kept(head.key, keys):
                continue
            try:
                with content.open("wb") as part:
                    async for chunk in await store.get(head.key):
                        part.write(chunk)
            except NotFoundError:
                continue  # of no row: the others stay
            name = _OBJECTS + head.key
            checksums[name] = await asyncio.to_thread(_add_file, tar, name, content)
            missing.discard(head.key)
        objects = len(checksums) - 1  # the dump is none
        manifest = replace(manifest, missing_objects=len(missing), objects=objects)
        _add(tar, _MANIFEST, json.dumps(asdict(manifest)).encode())
        _add(tar, _CHECKSUMS, json.dumps(checksums).encode())
        tar.close()
        file.flush()
        os.fsync(file.fileno())
    return manifest


def _is_kept(key: str, keys: set[str]) -> bool:
    """Say whether an object is of the snapshot; what no row of it has came later, or passes by."""
    folder = key.partition("/")[0]
    if folder == "media":
        return key in keys
    return folder not in _PASSING


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    entry.mode = 0o600
    tar.addfile(entry, io.BytesIO(content))


def _add_file(tar: tarfile.TarFile, name: str, path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            found.update(chunk)
        entry = tarfile.TarInfo(name)
        entry.size = file.tell()
        entry.mode = 0o600
        file.seek(0)
        tar.addfile(entry, file)
    return found.hexdigest()


def _members(tar: tarfile.TarFile) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield names and contents; a link or a device is nothing that we have written."""
    for entry in tar:
        file = tar.extractfile(entry) if entry.isreg() else None
        if file is None:
            raise DatabaseError(f"The backup holds {entry.name!r}, which is no file.")
        yield entry.name, iter(lambda file=file: file.read(_CHUNK_BYTES), b"")  # type: ignore[misc]


async def _async(content: Iterator[bytes]) -> AsyncIterator[bytes]:
    for chunk in content:
        yield chunk


def _checked(path: Path) -> tuple[Manifest, dict[str, str]]:
    """Read a backup to its end; return what made it, and the checksums of its members."""
    found: dict[str, str] = {}
    lists: dict[str, Any] = {}
    try:
        with tarfile.open(path, mode="r|") as tar:
            for name, content in _members(tar):
                if name in {_MANIFEST, _CHECKSUMS}:
                    lists[name] = json.loads(b"".join(content)[:_LIST_BYTES_MAX])
                    continue
                digest = hashlib.sha256()
                for chunk in content:
                    digest.update(chunk)
                found[name] = digest.hexdigest()
        manifest = Manifest(**lists[_MANIFEST])
    except OSError as error:
        raise DatabaseError(f"{path} cannot be read: {error.strerror or error}") from error
    except (tarfile.TarError, ValueError, KeyError, TypeError) as error:
        raise DatabaseError(f"{path} is no whole backup of mapi.") from error
    if lists.get(_CHECKSUMS) != found:
        raise DatabaseError(f"{path} is damaged or ends too early; nothing of it was restored.")
    if manifest.format != _FORMAT:
        raise DatabaseError(
            f"{path} has format {manifest.format}, this version reads {_FORMAT}. Restore it with "
            f"the version that made it, {manifest.version}."
        )
    refuse_unreleased(str(path), manifest.migrations)
    known = {one.name: one.checksum for one in migrations()}
    for name, checksum in manifest.migrations.items():
        if known.get(name) != checksum:
            raise DatabaseError(
                f"{path} has the migration {name}, which this version has not: it was made by "
                f"{manifest.version}. Restore it with that version or a newer one."
            )
    return manifest, found


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
    admin_url = _admin_url(settings.database_admin_url)
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
