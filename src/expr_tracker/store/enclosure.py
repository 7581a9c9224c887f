"""What is read of a run directory that somebody else may have made: only what lies in it.

A symbolic link in such a directory may lead to any file that this user can read. Whoever hands on what
the files hold reads them within an `Enclosure`: `regular` then opens nothing that lies elsewhere.
"""

from __future__ import annotations

import contextlib
import errno
import os
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from expr_tracker.interruption import is_from_signal
from expr_tracker.store.paths import real_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Enclosure", "LeadsOutError", "leads_out", "open_enclosed"]

#: Enough to go through a folder, where systems know it: one that cannot be listed may be gone through.
_THROUGH: Final = (
    getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
)


class LeadsOutError(OSError):
    """A file of a run lies, its links followed, outside the run's directory."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            errno.ELOOP, "leads out of the run directory; it is left out", os.fspath(path)
        )


@dataclass(frozen=True)
class _Held:
    """A directory that nothing is read outside of, as it was when that began."""

    enclosure: Enclosure
    root: Path
    identity: tuple[int, int] | None
    """Device and inode; ``None``: it was not there."""


_held: ContextVar[_Held | None] = ContextVar("held", default=None)


class Enclosure:
    """Keeps this thread's reading within one directory, and knows what it has refused.

    Args:
        directory: of the run; it may be a link itself.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._refused: dict[Path, None] = {}

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Read within the directory, as it is now, until the end of the block.

        A block in the block has its own directory.
        """
        root = real_path(self._directory)
        token = _held.set(_Held(self, root, _identity_at(root)))
        try:
            yield
        finally:
            _held.reset(token)

    def refuse(self, path: Path) -> LeadsOutError:
        """Note that a file leads out, and return the error that says so."""
        self._refused[path] = None
        return LeadsOutError(path)

    def refused(self) -> list[LeadsOutError]:
        """Return an error for each file that was refused and leads out still."""
        root = real_path(self._directory)
        self._refused = {path: None for path in self._refused if not _is_within(path, root)}
        return [LeadsOutError(path) for path in self._refused]


def leads_out(path: Path) -> bool:
    """Say whether a file is one that is not read here because it lies elsewhere."""
    held = _held.get()
    return held is not None and not _is_within(path, held.root)


def open_enclosed(path: Path, flags: int, mode: int) -> int:
    """Open a file as `os.open` does, but within an enclosure none that lies elsewhere.

    Raises:
        LeadsOutError: it lies elsewhere.
        OSError: it cannot be opened.
    """
    held = _held.get()
    if held is None:
        return os.open(path, flags, mode)
    target = real_path(path)
    if not target.is_relative_to(held.root) or target == held.root:
        raise held.enclosure.refuse(path)
    try:
        return _open_below(held, target, flags, mode=mode)
    except OSError as error:
        error.filename = os.fspath(path)  # of one that is opened in its folder it is the last name
        raise


def _open_below(held: _Held, target: Path, flags: int, *, mode: int) -> int:
    """Open a file without following a link: whoever puts one there after the look gains nothing."""
    *folders, name = target.relative_to(held.root).parts
    at = os.open(held.root, _THROUGH)
    try:
        if _identity_of(os.fstat(at)) != held.identity:
            raise OSError(errno.ESTALE, "the run directory was replaced meanwhile")
        for folder in folders:
            inner = os.open(folder, _THROUGH, dir_fd=at)
            outer, at = at, inner
            os.close(outer)
        return os.open(name, flags | os.O_NOFOLLOW, mode, dir_fd=at)
    finally:
        os.close(at)


def _identity_of(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _identity_at(root: Path) -> tuple[int, int] | None:
    try:
        return _identity_of(root.stat())
    except OSError as error:
        if is_from_signal(error):
            raise
        return None


def _is_within(path: Path, root: Path) -> bool:
    return real_path(path).is_relative_to(root)
