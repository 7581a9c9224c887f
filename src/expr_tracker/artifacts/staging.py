"""``.incoming``: where versions are made before they appear, and the lock for making them appear.

::

    .incoming/<token>/
        owner.lock        locked as long as the maker lives
        files/            what will become <name>/v<N>
        record.json       the index line, written just before ``files`` is renamed

The store's lock is held for the short moments in which folders are renamed and lines appended,
never while bytes are copied. Whoever holds it finishes what dead makers left: a version that was
renamed but not yet listed is whole, so it is listed; everything else is removed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from expr_tracker.artifacts.copying import sync_directory, sync_file
from expr_tracker.artifacts.names import INCOMING, LOCK
from expr_tracker.interruption import is_from_signal, suppress_own
from expr_tracker.store.documents import read_document, replacing
from expr_tracker.store.lines import encode_exact_line
from expr_tracker.store.lock import StreamLock, is_locked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from expr_tracker.row import Row

__all__ = ["Staging", "dead_stagings", "locked"]

#: The lock is held for milliseconds; a minute means that its holder is stopped or the disk hangs.
_LOCK_SECONDS_MAX: Final = 60.0
#: First and longest pause between two tries: contenders wait about as long as a publication takes.
_PAUSE_SECONDS_MIN: Final = 0.001
_PAUSE_SECONDS_MAX: Final = 0.02
#: Up to this many files each is synced by itself (a millisecond or so each); beyond, one sync of
#: everything is cheaper than ten thousand.
_SYNC_FILES_MAX: Final = 64

_BUSY: Final = frozenset({errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN})


@contextmanager
def locked(root: Path, warn: Callable[[str, str], object]) -> Iterator[bool]:
    """Hold the store's lock; give False where the file system has none.

    Raises:
        TimeoutError: another process has held it for a minute.
        OSError: the lock file cannot be made.
    """
    path = root / LOCK
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if not _lock(descriptor, path):
            warn(
                "artifact lock",
                f"{root} lies on a file system without locks: let only one process at a time log "
                "artifacts there.",
            )
            yield False
            return
        try:
            yield True
        finally:
            # Not by closing alone: a process forked meanwhile shares the lock and would keep it.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> bool:
    deadline = time.monotonic() + _LOCK_SECONDS_MAX
    pause = _PAUSE_SECONDS_MIN
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if is_from_signal(error):
                raise
            if error.errno not in _BUSY:
                return False
        else:
            return True
        if time.monotonic() > deadline:
            raise TimeoutError(
                errno.ETIMEDOUT,
                f"another process has held the artifact store for {_LOCK_SECONDS_MAX:.0f} s; "
                "find it with 'fuser' and continue or end it",
                str(path),
            )
        time.sleep(pause)
        pause = min(2 * pause, _PAUSE_SECONDS_MAX)


@dataclass(frozen=True, slots=True)
class Staging:
    """One version in the making."""

    directory: Path
    """Its folder below ``.incoming``."""
    owner: StreamLock
    """What tells others that its maker lives."""

    @property
    def files(self) -> Path:
        """What will become the version's folder."""
        return self.directory / "files"

    @classmethod
    def create(cls, root: Path) -> Staging:
        """Make an empty one; the caller holds the store's lock, so nobody takes it for a leftover.

        Raises:
            OSError: it cannot be made.
        """
        directory = root / INCOMING / f"{os.getpid()}-{secrets.token_hex(6)}"
        directory.mkdir(parents=True)
        owner = StreamLock(_owner_file(directory))
        try:
            owner.acquire(directory.name)
            (directory / "files").mkdir()
        except BaseException:
            owner.release()
            _remove_tree(directory)
            raise
        return cls(directory, owner)

    def sync(self) -> None:
        """Wait until all files and their names are on the medium.

        Raises:
            OSError: they are not.
        """
        folders: list[Path] = []
        files: list[Path] = []
        for folder, _, names in os.walk(self.files):
            folders.append(Path(folder))
            files.extend(folders[-1] / name for name in names)
        if len(files) > _SYNC_FILES_MAX and hasattr(os, "sync"):
            os.sync()
            return
        for file in files:
            sync_file(file)
        for made in reversed(folders):
            sync_directory(made)

    def move_to(self, place: Path, row: Row) -> None:
        """Rename the finished files to ``place``, with ``row`` kept until it is in the index.

        Raises:
            FileExistsError: something is there.
            OSError: it cannot be renamed.
        """
        # A rename replaces an empty folder without a word.
        if os.path.lexists(place):
            raise FileExistsError(errno.EEXIST, "this version's folder exists", str(place))
        # The record is for a killed process, not for a power cut: it is not synced. After a power
        # cut between rename and line the folder may stay unlisted; its number is passed over.
        with replacing(_record_file(self.directory)) as temporary:
            temporary.write_bytes(encode_exact_line(row))
        is_new_name = not place.parent.exists()
        place.parent.mkdir(exist_ok=True)
        try:
            self.files.rename(place)
        except OSError as error:
            if error.errno == errno.ENOTEMPTY:
                raise FileExistsError(errno.EEXIST, str(error), str(place)) from error
            raise
        sync_directory(place.parent)
        if is_new_name:
            sync_directory(place.parent.parent)

    def take_back(self, place: Path) -> None:
        """Undo `move_to`: the line could not be written, so the version never was.

        Raises:
            OSError: it cannot be renamed.
        """
        place.rename(self.files)

    def remove(self) -> None:
        """Remove what is left of it; never raises."""
        _remove(self.directory)
        self.owner.release()

    def abandon(self) -> None:
        """Give it up after an error; never raises.

        Where the files are in place but perhaps not listed yet (an interrupt between the two), the
        record stays: whoever holds the lock next lists them.
        """
        if self.files.exists():
            _remove(self.directory)
        self.owner.release()


def _owner_file(directory: Path) -> Path:
    return directory / "owner.lock"


def _record_file(directory: Path) -> Path:
    return directory / "record.json"


def dead_stagings(root: Path) -> Iterator[Row | None]:
    """Remove the folders of dead makers; yield the line of each version that was renamed already.

    The caller holds the store's lock (a real one: without locks every maker looks dead) and lists
    what it gets before it asks for the next: only then is the folder with the record removed.
    """
    try:
        names = os.listdir(root / INCOMING)  # noqa: PTH208 - empty nearly always; iterdir is slower
    except OSError as error:
        if is_from_signal(error):
            raise
        return
    for name in names:
        directory = root / INCOMING / name
        if is_locked(_owner_file(directory)):
            continue
        if not (directory / "files").exists():
            yield read_document(_record_file(directory))
        _remove(directory)


def _remove(directory: Path) -> None:
    # The record goes first: without its files, what is left must not look like a finished rename.
    with suppress_own(OSError):
        _record_file(directory).unlink()
    _remove_tree(directory)


def _remove_tree(directory: Path) -> None:
    """Remove what can be removed."""
    try:
        shutil.rmtree(directory)
    except OSError as error:
        if is_from_signal(error):
            raise
        shutil.rmtree(directory, ignore_errors=True)  # it may leave a thing out and go on
