"""Whose the files of a run are: a rescue by an administrator leaves them to who writes the run.

Files that are made anew and renamed over the old ones belong to whoever makes them. A lock or a line
file that belongs to root is one that the next `init` of the run's owner cannot open.
"""

from __future__ import annotations

import os
import shlex
import stat
from typing import TYPE_CHECKING

from expr_tracker.interruption import is_from_signal
from expr_tracker.notices import logger
from expr_tracker.store.files import parts_of, sidecar_of, torn_of
from expr_tracker.store.reader import part_paths

if TYPE_CHECKING:
    from pathlib import Path

    from expr_tracker.rescue.target import Target

__all__ = ["Owners", "give"]


class Owners:
    """What the files were that a rescue may touch; asked before it touches any.

    Args:
        target: the file that rescued lines belong in.

    Raises:
        OSError: the run's directory cannot be looked at.
    """

    def __init__(self, target: Target) -> None:
        files, path = target.files, target.path
        self._home = files.directory.stat()
        paths = [path.resolve(), sidecar_of(path), torn_of(path), parts_of(path)]
        paths += [files.lock, files.summary, files.journal, *part_paths(path)[0]]
        self._before = {each: _status_of(each) for each in paths}

    def restore(self) -> None:
        """Give every file to whom it belonged, and new ones to whom the directory belongs.

        One warning names those that cannot be given away.
        """
        refused: dict[tuple[int, int], list[str]] = {}
        reason = ""
        for path, before in self._before.items():
            now = _status_of(path)
            if now is None or stat.S_ISLNK(now.st_mode):
                continue
            owner = before or self._home
            error = give(path, owner)
            if error is not None:
                refused.setdefault((owner.st_uid, owner.st_gid), []).append(str(path))
                reason = error.strerror or str(error)
            elif before is not None and before.st_mode != now.st_mode:
                _set_mode(path, stat.S_IMODE(before.st_mode))
        for (user, group), paths in refused.items():
            logger.warning(
                "What was made anew cannot be given back to user %d and group %d: %s. Whoever writes the "
                "run may not be able to. As an administrator run: chown %d:%d %s",
                user,
                group,
                reason,
                user,
                group,
                shlex.join(paths),
            )


def give(what: int | Path, owner: os.stat_result) -> OSError | None:
    """Make a file, or that of a descriptor, belong to a user and group; return why it does not."""
    now = os.fstat(what) if isinstance(what, int) else what.lstat()
    if (now.st_uid, now.st_gid) == (owner.st_uid, owner.st_gid):
        return None
    try:
        # No link is followed: whoever owns the directory could put one in the file's place meanwhile.
        if isinstance(what, int):
            os.fchown(what, owner.st_uid, owner.st_gid)
        else:
            os.lchown(what, owner.st_uid, owner.st_gid)
    except OSError as error:
        if is_from_signal(error):
            raise
        return error
    return None


def _set_mode(path: Path, mode: int) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def _status_of(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
