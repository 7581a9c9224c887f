"""Files of a home that each keep one secret, made on the first start.

A secret is under its name once it is whole and on the disk: a start that is killed, or finds the disk
full, leaves no file that the next one would take for the secret.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["keep_secret", "read_secret"]


def read_secret(path: Path) -> str | None:
    """Return the secret that a file keeps; ``None`` where there is none, or the file is empty."""
    try:
        return path.read_text(encoding="ascii").strip() or None
    except FileNotFoundError:
        return None


def keep_secret(path: Path, make: Callable[[], str]) -> str:
    """Return the secret that a file keeps, made where there is none.

    Of two who make it at the same time both get that of the first.
    """
    found = read_secret(path)
    if found is not None:
        return found
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Let go of with its descriptor. Whoever waited for it finds what the other has made.
        fcntl.flock(folder, fcntl.LOCK_EX)
        found = read_secret(path)
        if found is None:
            found = make()
            _write(path, found)
            os.fsync(folder)
    finally:
        os.close(folder)
    return found


def _write(path: Path, secret: str) -> None:
    # Readable to its owner alone, as mkstemp makes it.
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secret)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
