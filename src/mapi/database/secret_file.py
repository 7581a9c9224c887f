"""Files of a home that each keep one secret, made on the first start.

A secret is under its name once it is whole and on the disk: a start that is killed, or finds the disk
full, leaves no file that the next one would take for the secret.
"""

from __future__ import annotations

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
    # Readable to its owner alone, as mkstemp makes it.
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(make())
            file.flush()
            os.fsync(file.fileno())
        if path.exists() and read_secret(path) is None:
            path.unlink()
        try:
            os.link(name, path)
        except FileExistsError:
            pass  # somebody else's came first
        except OSError:  # a file system without hard links
            Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return path.read_text(encoding="ascii").strip()
