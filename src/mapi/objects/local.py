"""Objects as files below one directory, for one machine.

A new object is written aside, flushed to the disk, and then linked to its name: a link fails where
a name exists, so of two writers one wins and no reader sees half a file. Folders are opened one
below the other and never through a symbolic link, so that no name leads out, whatever somebody has
put there.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import stat
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeVar

from mapi.errors import UnavailableError
from mapi.objects.keys import checked_folder, checked_key
from mapi.objects.store import (
    CHUNK_BYTES,
    Content,
    Expectation,
    Measured,
    ObjectExistsError,
    ObjectHead,
    ObjectStore,
    SignedUpload,
    StoredObject,
    UploadTerms,
    no_such_object,
)
from mapi.objects.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from mapi.objects.permits import UploadPermits

__all__ = ["LocalStore"]

#: No key begins with a dot, so this folder is nobody's.
_ASIDE: Final = ".partial"
#: Nobody writes one object for as long: what is older is left over.
_ASIDE_SECONDS_MAX: Final = 86_400
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: Not blocking: a pipe that somebody put there would stop the server.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
#: A delete may take an empty folder away between its making and its use.
_LINK_TRIES: Final = 5
#: What stands there is no folder or file of ours: a link, a socket, a file in place of a folder.
_NOT_OURS: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})

_Result = TypeVar("_Result")


class LocalStore(ObjectStore):
    """A directory of objects.

    Args:
        directory: all of it belongs to the store; made when missing.
        permits: for uploads through the server.
    """

    def __init__(self, directory: Path, *, permits: UploadPermits) -> None:
        self._directory = directory
        self._permits = permits
        aside = directory / _ASIDE
        aside.mkdir(mode=0o700, parents=True, exist_ok=True)
        # What a server that was killed left behind.
        for path in aside.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > _ASIDE_SECONDS_MAX:
                    path.unlink()

    async def put(
        self, key: str, content: Content, *, expected: Expectation | None = None
    ) -> StoredObject:
        """Write an object, unless there is one under the key; see `ObjectStore.put`."""
        checked_key(key)
        # Spares the writing; what decides is the link.
        if await _told(key, self._is_there, key):
            raise ObjectExistsError(key)
        measured = Measured(content, expected)
        aside = self._directory / _ASIDE / secrets.token_hex(16)
        file = await _told(key, _open_new, aside)
        try:
            try:
                async for chunk in measured.chunks():
                    await _told(key, _write_all, file, chunk)
                stored = measured.stored(key)
                await _told(key, os.fsync, file.fileno())
            finally:
                file.close()
            await _told(key, self._link, aside, key)
        finally:
            aside.unlink(missing_ok=True)
        return stored

    async def head(self, key: str) -> ObjectHead:
        """Return what is known of an object; see `ObjectStore.head`."""
        return await _told(key, self._look, checked_key(key))

    async def chunks(self, key: str, start: int, stop: int) -> AsyncIterator[bytes]:
        """Yield the bytes of an object; see `ObjectStore.chunks`."""
        file = await _told(key, self._open, checked_key(key))
        try:
            while start < stop:
                size = min(CHUNK_BYTES, stop - start)
                chunk = await _told(key, os.pread, file.fileno(), size, start)
                if not chunk:
                    raise UnavailableError(f"The object {key} ends early: its file was cut off.")
                start += len(chunk)
                yield chunk
        finally:
            file.close()

    async def delete(self, key: str) -> bool:
        """Delete an object; see `ObjectStore.delete`."""
        return await _told(key, self._unlink, checked_key(key))

    async def retire(self, key: str) -> None:
        """Put an empty file in an object's place; see `ObjectStore.retire`."""
        checked_key(key)
        aside = self._directory / _ASIDE / secrets.token_hex(16)
        (await _told(key, _open_new, aside)).close()
        try:
            await _told(key, self._replace, aside, key)
        finally:
            aside.unlink(missing_ok=True)

    async def heads(self, folder: str = "") -> AsyncIterator[ObjectHead]:
        """Yield the objects in a folder; see `ObjectStore.heads`."""
        folders = [checked_folder(folder)]
        while folders:
            here = folders.pop()
            heads, below = await _told(here, self._entries, here)
            folders += below
            for head in heads:
                yield head

    async def sign_upload(self, terms: UploadTerms, *, lifetime_seconds: int) -> SignedUpload:
        """Return a permit; the server that takes it calls `put`."""
        return self._permits.sign(terms, lifetime_seconds=lifetime_seconds)

    async def sign_download(
        self, key: str, *, file_name: str, content_type: str, lifetime_seconds: int
    ) -> str | None:
        """Return ``None``: the server streams."""
        del file_name, content_type, lifetime_seconds
        checked_key(key)
        return None

    def _is_there(self, key: str) -> bool:
        try:
            with self._folder_of(key) as (folder, name):
                os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if error.errno in _NOT_OURS:
                return False
            raise
        return True

    def _look(self, key: str) -> ObjectHead:
        with self._open(key) as file:
            return _head(key, os.fstat(file.fileno()))

    def _open(self, key: str) -> io.FileIO:
        with self._folder_of(key) as (folder, name):
            number = os.open(name, _FILE, dir_fd=folder)
        try:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise FileNotFoundError(errno.ENOENT, "no file", key)
            return io.FileIO(number, "rb")
        except OSError:
            os.close(number)
            raise

    def _link(self, aside: Path, key: str) -> None:
        for tries_left in reversed(range(_LINK_TRIES)):
            try:
                with self._folder_of(key, is_made=True) as (folder, name):
                    os.link(aside, name, dst_dir_fd=folder, follow_symlinks=False)
                    os.fsync(folder)
                return
            except FileExistsError:
                raise ObjectExistsError(key) from None
            except FileNotFoundError:
                if not tries_left:
                    raise

    def _replace(self, aside: Path, key: str) -> None:
        with self._folder_of(key, is_made=True) as (folder, name):
            os.replace(aside, name, dst_dir_fd=folder)
            os.fsync(folder)

    def _unlink(self, key: str) -> bool:
        try:
            with self._folder_of(key) as (folder, name):
                if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                    return False
                os.unlink(name, dir_fd=folder)
                os.fsync(folder)
        except OSError as error:
            if error.errno in _NOT_OURS:
                return False
            raise
        self._prune(key)
        return True

    def _prune(self, key: str) -> None:
        """Take away the folders that have nothing left in them, from the innermost."""
        parts = key.split("/")[:-1]
        while parts:
            try:
                with self._folder_of("/".join(parts)) as (folder, name):
                    os.rmdir(name, dir_fd=folder)
            except OSError:  # something is in it, or somebody else took it away
                return
            parts.pop()

    def _entries(self, folder: str) -> tuple[list[ObjectHead], list[str]]:
        """Return the objects of one folder, and the folders in it."""
        heads: list[ObjectHead] = []
        below: list[str] = []
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
            self._folder_of(f"{folder}/_" if folder else "_") as (opened, _),
        ):
            for name in os.listdir(opened):  # noqa: PTH208 - of an open folder, not of a path
                if name.startswith("."):
                    continue
                try:
                    found = os.stat(name, dir_fd=opened, follow_symlinks=False)
                except FileNotFoundError:  # deleted while we look
                    continue
                path = f"{folder}/{name}" if folder else name
                if stat.S_ISDIR(found.st_mode):
                    below.append(path)
                elif stat.S_ISREG(found.st_mode):
                    heads.append(_head(path, found))
        return heads, below

    @contextlib.contextmanager
    def _folder_of(self, key: str, *, is_made: bool = False) -> Iterator[tuple[int, str]]:
        """Open the folder of a key from the top, each part below the one before."""
        *parts, name = key.split("/")
        folder = os.open(self._directory, _FOLDER & ~os.O_NOFOLLOW)
        try:
            for part in parts:
                if is_made:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, mode=0o700, dir_fd=folder)
                        os.fsync(folder)
                inner = os.open(part, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder, name
        finally:
            os.close(folder)


def _head(key: str, found: os.stat_result) -> ObjectHead:
    return ObjectHead(key, found.st_size, datetime.fromtimestamp(found.st_mtime, UTC))


def _open_new(path: Path) -> io.FileIO:
    """Make a file for the server's own eyes; an object, so that nobody can forget to close it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return io.FileIO(os.open(path, flags, mode=0o600), "wb")


def _write_all(file: io.FileIO, chunk: bytes) -> None:
    rest = memoryview(chunk)
    while rest:
        rest = rest[os.write(file.fileno(), rest) :]


async def _told(key: str, work: Callable[..., _Result], *arguments: object) -> _Result:
    """Do file work off the event loop, and tell the operating system's errors as ours."""
    try:
        return await in_thread(work, *arguments)
    except OSError as error:
        if error.errno in _NOT_OURS:
            raise no_such_object(key) from None
        raise UnavailableError(f"The store cannot work on {key}: {error.strerror}.") from error
