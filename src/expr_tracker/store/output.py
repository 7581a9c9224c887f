"""Where a file goes that a user asked for: over an old one, through a link, or into a device.

A file is replaced whole and keeps its mode, and a link stays a link: what it leads to is replaced. What is there and is no
file (a FIFO, a terminal, ``/dev/null``, an open descriptor such as ``/dev/stdout``) can only be written
into. It gets its bytes when all of them are ready, so that a failure on the way sends it none.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import QueryError
from expr_tracker.interruption import is_from_signal, suppress_own
from expr_tracker.notices import offer_beside
from expr_tracker.store.documents import replacing
from expr_tracker.store.paths import absolute, path_given

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["output_place", "writing_to"]

#: How systems name this process's open descriptors; opened by name they would be written from the
#: start, over what a shell's ``>>`` has put there.
_DESCRIPTOR: Final = re.compile(r"/(?:dev|proc/self|proc/thread-self)/fd/(\d+)")
#: More links behind one another are a loop, as Linux has it (path_resolution(7)).
_LINKS_MAX: Final = 40


def output_place(output: object) -> Path:
    """Return what is written where ``output`` is asked for: the end of its links.

    Raises:
        QueryError: it can be no path.
        IsADirectoryError: it is a folder.
        FileNotFoundError: the folder that it would be in does not exist.
        OSError: the links lead in a circle, or cannot be followed.
    """
    path = path_given(output, "output", QueryError, expected="the path of a file")
    place = _end_of_links(path)
    if _DESCRIPTOR.fullmatch(str(place)):
        return place
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, "that is a folder; name a file in it", str(path))
    if not place.parent.is_dir():
        near = offer_beside(place.parent, only_folders=True)
        raise FileNotFoundError(errno.ENOENT, f"there is no such folder.{near}", str(place.parent))
    return place


def _end_of_links(path: Path) -> Path:
    place = path
    for _ in range(_LINKS_MAX):
        found = _DESCRIPTOR.fullmatch(str(absolute(place)))
        if found is not None:
            return Path(f"/dev/fd/{found[1]}")
        if not place.is_symlink():
            return place
        place = place.parent / place.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


@contextlib.contextmanager
def writing_to(place: Path) -> Iterator[Path]:
    """Give a path to write to; what is there at the end goes to ``place``, which `output_place` gave.

    Raises:
        OSError: it could not be written. A file that stood there stays.
    """
    if _is_replaced(place):
        with replacing(place) as beside:
            yield beside
            _keep_mode(place, beside)
        return
    with tempfile.TemporaryDirectory(prefix="expr-tracker-") as folder:
        ready = Path(folder, place.name)
        yield ready
        with ready.open("rb") as content, open(_opened(place), "wb") as target:
            shutil.copyfileobj(content, target)


def _keep_mode(place: Path, beside: Path) -> None:
    # Where there was none, the new file has what is usual; where the file system has no modes, none.
    with suppress_own(OSError):
        shutil.copymode(place, beside)


def _is_replaced(place: Path) -> bool:
    if _DESCRIPTOR.fullmatch(str(place)):
        return False
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        return True
    # That a folder cannot be replaced by a file is for the system to say.
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _opened(place: Path) -> int:
    found = _DESCRIPTOR.fullmatch(str(place))
    number = -1 if found is None else int(found[1])
    streams = {1: sys.__stdout__, 2: sys.__stderr__}
    # Where the program was started without it, the number belongs to a file that was opened since.
    if number in streams and streams[number] is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), str(place))
    try:
        if found is not None:
            return os.dup(number)
        return os.open(place, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if is_from_signal(error):
            raise
        raise OSError(error.errno, error.strerror, str(place)) from None
