"""A folder for what a process writes aside, which goes with the process, or with the next one like it.

A process that is killed takes nothing away. So whoever makes such a folder holds a lock on it as long as
it lives, and whoever comes next removes those that nobody holds.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["folder_to_disk", "own_folder"]

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def own_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Make a folder that only we can read, and remove it at the end; dead ones of others go as well.

    Args:
        parent: where to make it.
        prefix: of its name, and of those that are looked for.

    Raises:
        OSError: nothing can be made there.
    """
    _remove_dead(parent, prefix)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        # Until it is locked, somebody may take it for dead.
        try:
            descriptor = os.open(folder, _FOLDER)
        except FileNotFoundError:
            continue
        # A file system that locks no folder keeps what a killed process leaves.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if folder.exists():
            break
        os.close(descriptor)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _remove_dead(parent: Path, prefix: str) -> None:
    """Remove our user's folders that no living process holds."""
    for folder in parent.glob(f"{prefix}*"):
        try:
            descriptor = os.open(folder, _FOLDER)
        except OSError:  # another user's, or gone
            continue
        try:
            if os.fstat(descriptor).st_uid == os.geteuid():
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # held
            pass
        finally:
            os.close(descriptor)


def folder_to_disk(folder: Path) -> None:
    """Let the names in a folder outlast a power cut."""
    descriptor = os.open(folder, _FOLDER & ~os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
