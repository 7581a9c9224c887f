"""The mark in a home whose database is being restored: until it goes, nobody else works with that database.

A restore makes a database, and fills it with objects and rows in several steps. One that is killed in
between leaves a database that looks like a new one. The mark is there before the database is, and goes when
all of it is there; so whoever meets it knows that what lies there is no platform yet.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from mapi.errors import DatabaseError
from mapi.serve.own_folder import folder_to_disk

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_half_restored", "mark_restored", "mark_restoring", "refuse_half_restored"]

_NAME: Final = "restoring"


def is_half_restored(home: Path) -> bool:
    """Say whether a restore into a home has begun and not come to its end."""
    return (home / _NAME).exists()


def refuse_half_restored(home: Path) -> None:
    """Refuse a home whose restore has not come to its end.

    Raises:
        DatabaseError: there is such a one.
    """
    if is_half_restored(home):
        raise DatabaseError(
            f"A restore into {home} has not come to its end. If it still runs, wait for it; if it was "
            "killed, `mapi restore FILE` with this home begins it anew."
        )


def mark_restoring(home: Path) -> None:
    """Note that a restore begins, before anything of it is there."""
    descriptor = os.open(home / _NAME, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.close(descriptor)
    folder_to_disk(home)


def mark_restored(home: Path) -> None:
    """Note that a restore is whole, or that nothing is left of it."""
    (home / _NAME).unlink(missing_ok=True)
    folder_to_disk(home)
