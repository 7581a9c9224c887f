"""The file that a backup is: written once, member by member, and read to its end before it is used.

A tar file, in this order: ``database.dump`` (pg_dump's own format), ``objects/<key>``,
``manifest.json`` (what made it), and ``checksums.json`` with the SHA-256 of each, which only a whole
backup has.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from mapi.database.migrate import migrations, refuse_unreleased
from mapi.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "DUMP",
    "FORMAT",
    "OBJECTS",
    "Manifest",
    "add_file",
    "add_lists",
    "check_backup",
    "members",
]

FORMAT: Final = 1
DUMP: Final = "database.dump"
#: How the names of objects begin.
OBJECTS: Final = "objects/"
_MANIFEST, _CHECKSUMS = "manifest.json", "checksums.json"
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


def add_lists(tar: tarfile.TarFile, manifest: Manifest, checksums: dict[str, str]) -> None:
    """Add what makes a backup whole, behind all else."""
    _add(tar, _MANIFEST, json.dumps(asdict(manifest)).encode())
    _add(tar, _CHECKSUMS, json.dumps(checksums).encode())


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    entry.mode = 0o600
    tar.addfile(entry, io.BytesIO(content))


def add_file(tar: tarfile.TarFile, name: str, path: Path) -> str:
    """Add a file under a name; return its SHA-256 in hex."""
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


def members(tar: tarfile.TarFile) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield names and contents; a link or a device is nothing that we have written."""
    for entry in tar:
        file = tar.extractfile(entry) if entry.isreg() else None
        if file is None:
            raise DatabaseError(f"The backup holds {entry.name!r}, which is no file.")
        yield entry.name, iter(lambda file=file: file.read(_CHUNK_BYTES), b"")  # type: ignore[misc]


def check_backup(path: Path) -> tuple[Manifest, dict[str, str]]:
    """Read a backup to its end; return what made it, and the checksums of its members.

    Raises:
        DatabaseError: it is not whole, or was made by a version that this one does not know.
    """
    found: dict[str, str] = {}
    lists: dict[str, Any] = {}
    try:
        with tarfile.open(path, mode="r|") as tar:
            for name, content in members(tar):
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
    if manifest.format != FORMAT:
        raise DatabaseError(
            f"{path} has format {manifest.format}, this version reads {FORMAT}. Restore it with "
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
