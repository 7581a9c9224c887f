"""Backup: one file with the database and the objects, for either kind of both.

The database is dumped in one snapshot, then the objects are copied that its rows name. A turn is held
meanwhile, under which the server deletes no object (`mapi.tracking.letting_go`): what is replaced or
deleted while the backup is written is in it as it was. What only passes through the store, uploads
and the like, is left out. `mapi.serve.backup_file` is what is written, `mapi.serve.restoring` reads it.
"""

from __future__ import annotations

import asyncio
import os
import tarfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import psycopg

from mapi.database.door import Database
from mapi.database.isolation import admin_words
from mapi.database.turns import in_turn
from mapi.errors import DatabaseError, NotFoundError, SettingError
from mapi.objects.opening import open_store
from mapi.serve.backup_file import DUMP, FORMAT, OBJECTS, Manifest, add_file, add_lists
from mapi.serve.clients import dump_schema
from mapi.serve.own_folder import folder_to_disk, own_folder
from mapi.serve.platform import reach_foundation
from mapi.tracking.letting_go import BACKUP_TURN

if TYPE_CHECKING:
    from pathlib import Path

    from mapi.config import Settings
    from mapi.objects.store import ObjectStore

__all__ = ["ASIDE", "admin_url_of", "store_of", "write_backup"]

#: What is written under another name until it is whole.
_BACKUP: Final = "backup"
#: How folders for that begin.
ASIDE: Final = ".mapi-backup-"
#: Folders of the store whose objects no row has: uploads on their way, and what `mapi doctor` tries.
_PASSING: Final = frozenset({"uploads", "doctor"})


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
        admin_url = admin_url_of(foundation.admin_url)
        try:
            # In the same folder, so that the rename at the end is one step.
            folder = undo.enter_context(own_folder(path.parent, ASIDE))
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
            manifest, keys = await asyncio.to_thread(_dump, source, folder / DUMP)
            return await _fill(folder, manifest, keys=keys, store=store_of(source.settings))

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


def admin_url_of(found: str | None) -> str:
    """Return the address of the role that sees all tenants.

    Raises:
        SettingError: no setting has one.
    """
    if found is None:
        raise SettingError(
            "This needs MAPI_DATABASE_ADMIN_URL: the role of MAPI_DATABASE_URL sees one tenant at "
            "a time."
        )
    return found


def store_of(settings: Settings) -> ObjectStore:
    """Open the store of the objects; nobody asks it for an upload."""
    store, _ = open_store(
        settings.bundles_url, home=settings.home, upload_url="", secret=os.urandom(32)
    )
    return store


def _manifest(connection: psycopg.Connection[Any], version: str) -> Manifest:
    applied: dict[str, str] = dict(
        connection.execute("select name, checksum from mapi.migrations").fetchall()
    )
    server_version = connection.info.server_version
    return Manifest(FORMAT, version, datetime.now(UTC).isoformat(), server_version, applied)


async def _fill(
    folder: Path, manifest: Manifest, *, keys: set[str], store: ObjectStore
) -> Manifest:
    """Write the file; return its manifest, with how many objects the store has lost."""
    checksums = {}
    missing = set(keys)
    descriptor = os.open(folder / _BACKUP, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w|") as tar:
        checksums[DUMP] = await asyncio.to_thread(add_file, tar, DUMP, folder / DUMP)
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
            name = OBJECTS + head.key
            checksums[name] = await asyncio.to_thread(add_file, tar, name, content)
            missing.discard(head.key)
        objects = len(checksums) - 1  # the dump is none
        manifest = replace(manifest, missing_objects=len(missing), objects=objects)
        add_lists(tar, manifest, checksums)
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
