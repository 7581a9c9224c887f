"""Paths as callers give them: what can be none is refused, in one line that names the argument.

Also where a path leads, which Python's own ``Path.resolve`` does not say of links that lead in a circle,
nor ``Path.absolute`` in a working directory that was removed.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from expr_tracker.interruption import is_from_signal
from expr_tracker.texts import shown, type_name

if TYPE_CHECKING:
    from expr_tracker.errors import TrackerError

__all__ = ["absolute", "path_given", "real_path"]


def path_given(
    value: object, argument: str, error: type[TrackerError], *, expected: str = "a path"
) -> Path:
    """Return the path that a caller gave.

    Args:
        value: what was given.
        argument: the name of the argument, for the message.
        error: what is raised.
        expected: what the path is of, for the message.

    Raises:
        TrackerError: it can be no path: of another type, empty, or with characters that none has.
    """
    text = _text_from(value)
    if text is None:
        raise error(
            f"{argument}={shown(value)} ({type_name(value)}): expected a path, str or Path."
        )
    if not text:
        # Path("") is the working directory, which nobody means who leaves a variable empty.
        raise error(f"{argument}='': expected {expected}; an empty text is none.")
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError as wrong:  # half a surrogate pair
        raise error(
            f"{argument}={shown(text)}: no path of this system ({wrong.reason})."
        ) from None
    if b"\0" in encoded:
        raise error(f"{argument}={shown(text)}: no path has a NUL character in it; take it out.")
    return Path(text)


def _text_from(value: object) -> str | None:
    if not isinstance(value, (str, os.PathLike)):
        return None
    try:
        text: object = os.fspath(value)
    except Exception as error:  # the object's own fault
        if is_from_signal(error):
            raise
        return None
    return str.__str__(text) if isinstance(text, str) else None


def absolute(path: Path) -> Path:
    """Return a path that stays right when the process changes its directory.

    Raises:
        FileNotFoundError: it is relative and the working directory was removed; the error says so.
    """
    try:
        return path.absolute()
    except FileNotFoundError as error:
        if is_from_signal(error):
            raise
        raise FileNotFoundError(
            errno.ENOENT, "the working directory, which it is relative to, was removed", str(path)
        ) from None


def real_path(path: Path) -> Path:
    """Return where ``path`` leads, its links followed; one that leads in a circle stays.

    Raises:
        FileNotFoundError: as `absolute`.
    """
    return Path(os.path.realpath(absolute(path)))
