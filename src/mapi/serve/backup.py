"""Backup and restore: one file with the database and the objects, for either kind of both.

A tar file, in this order: ``database.dump`` (pg_dump's own format), ``objects/<key>``,
``manifest.json`` (what made it), and ``checksums.json`` with the SHA-256 of each, which only a whole
backup has. A backup is read to its end before anything of it is restored, and is restored into
nothing else than an empty place.

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
import subprocess
import tarfile
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psycopg

from mapi.database.door import Database
from mapi.database.embedded.binaries import find_binaries
from mapi.database.migrate import make_roles, migrate, migrations
from mapi.database.turns import in_turn
from mapi.errors import DatabaseError, NotFoundError, SettingError
from mapi.objects.opening import open_store
from mapi.serve.platform import (
    LOGIN,
    database_password,
    login_of,
    reach_foundation,
    start_embedded,
)
from mapi.tracking.letting_go import BACKUP_TURN

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from mapi.config import Settings
    from mapi.objects.store import ObjectStore

__all__ = ["Manifest", "restore_backup", "write_backup"]

_FORMAT: Final = 1
_MANIFEST, _DUMP, _CHECKSUMS = "manifest.json", "database.dump", "checksums.json"
_OBJECTS: Final = "objects/"
#: What is written under another name until it is whole.
_BACKUP: Final = "backup"
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


def write_backup(settings: Settings, path: Path, *, version: str) -> Manifest:
    """Write a backup; the server may run meanwhile.

    Args:
        settings: where database and objects are.
        path: of the new file, which nobody else can read.
        version: of the program.

    Raises:
        DatabaseError: the database cannot be dumped.
        SettingError: the file exists, or settings do not fit each other.
    """
    if path.exists():
        raise SettingError(f"{path} exists; name a file that does not.")
    with ExitStack() as undo:
        foundation = reach_foundation(settings, undo)
        admin_url = _admin_url(foundation.admin_url)
        # In the same folder, so that the rename at the end is one step.
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory(dir=path.parent)))
        source = _Source(settings, foundation.database_url, admin_url, version)
        manifest = asyncio.run(_write(source, folder))
        (folder / _BACKUP).rename(path)
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
            rows = connection.execute("select object_key from mapi.run_media").fetchall()
            # The snapshot lasts as long as its transaction.
            _run_client(
                source.settings,
                "pg_dump",
                url=source.admin_url,
                words=[
                    "--format=custom",
                    "--schema=mapi",
                    f"--snapshot={snapshot[0]}",
                    f"--file={path}",
                ],
            )
    except psycopg.Error as error:
        raise DatabaseError(f"The database cannot be read: {error}") from error
    return manifest, {key for (key,) in rows}


def restore_backup(settings: Settings, path: Path) -> Manifest:
    """Restore a backup into an empty home, or into a database and a store without ours.

    Args:
        settings: where to.
        path: the backup.

    Raises:
        DatabaseError: the place is not empty, the backup is not whole, or the database refuses.
        SettingError: settings do not fit each other.
    """
    manifest = _checked(path)
    with ExitStack() as undo:
        admin_url, login, password = _empty_database(settings, undo)
        make_roles(admin_url, login=login, password=password)
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory()))
        dump = folder / _DUMP
        asyncio.run(_unpack(path, dump, _store(settings)))
        _run_client(
            settings,
            "pg_restore",
            url=admin_url,
            words=["--exit-on-error", "--single-transaction", str(dump)],
        )
        # What came after the backup's version, and what stands beside the schema.
        migrate(admin_url, login=login, password=password)
    return manifest


async def _unpack(path: Path, dump: Path, store: ObjectStore) -> None:
    with tarfile.open(path, mode="r|") as tar:
        for name, content in _members(tar):
            if name == _DUMP:
                with dump.open("wb") as file:
                    file.writelines(content)
            elif name.startswith(_OBJECTS):
                # The store takes no key that leads out of it.
                await store.put(name.removeprefix(_OBJECTS), _async(content))


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
        manifest = replace(manifest, missing_objects=len(missing))
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


def _checked(path: Path) -> Manifest:
    """Read a backup to its end, and return what made it."""
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
        raise DatabaseError(f"{path} cannot be read: {error}") from error
    except (tarfile.TarError, ValueError, KeyError, TypeError) as error:
        raise DatabaseError(f"{path} is no whole backup of mapi.") from error
    if lists.get(_CHECKSUMS) != found:
        raise DatabaseError(f"{path} is damaged or ends too early; nothing of it was restored.")
    if manifest.format != _FORMAT:
        raise DatabaseError(
            f"{path} has format {manifest.format}, this version reads {_FORMAT}. Restore it with "
            f"the version that made it, {manifest.version}."
        )
    known = {one.name: one.checksum for one in migrations()}
    for name, checksum in manifest.migrations.items():
        if known.get(name) != checksum:
            raise DatabaseError(
                f"{path} has the migration {name}, which this version has not: it was made by "
                f"{manifest.version}. Restore it with that version or a newer one."
            )
    return manifest


def _empty_database(settings: Settings, undo: ExitStack) -> tuple[str, str, str | None]:
    """Return how to reach an empty database: as who may create, as whom the server connects."""
    if settings.database_url is None:
        if (settings.home / "postgres" / "data").exists():
            raise DatabaseError(
                f"{settings.home} has a database. Restore into a new home, named with --home."
            )
        server = start_embedded(settings, undo)
        return server.superuser_url(), LOGIN, database_password(settings)
    admin_url = _admin_url(settings.database_admin_url)
    try:
        with psycopg.connect(admin_url) as connection:
            found = connection.execute("select to_regnamespace('mapi') is not null").fetchone()
    except psycopg.Error as error:
        raise DatabaseError(f"The database cannot be reached: {error}") from error
    if found and found[0]:
        raise DatabaseError(
            "The database has a schema 'mapi'. Restore into a new database, named in "
            "MAPI_DATABASE_ADMIN_URL and MAPI_DATABASE_URL."
        )
    password = psycopg.conninfo.conninfo_to_dict(settings.database_url).get("password")
    return admin_url, login_of(settings.database_url), None if password is None else str(password)


def _run_client(settings: Settings, name: str, *, url: str, words: list[str]) -> None:
    """Run one of PostgreSQL's own programs; the password is not among its words, which all see."""
    parts = psycopg.conninfo.conninfo_to_dict(url)
    password = str(parts.pop("password", ""))
    where = psycopg.conninfo.make_conninfo("", **parts)
    program = find_binaries(settings.postgres_bin).program(name)
    done = subprocess.run(  # noqa: S603 - the operator's own program
        [program, f"--dbname={where}", *words],
        env={"PATH": os.defpath, "PGPASSWORD": password},
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    if done.returncode != 0:
        said = done.stderr.replace(password, "***") if password else done.stderr
        raise DatabaseError(
            f"{name} failed: {said.strip()[-1_000:]} (MAPI_PG_BIN names the programs of another "
            "version; dumping needs a superuser or a role with BYPASSRLS)"
        )
