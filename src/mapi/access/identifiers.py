"""Identifiers as clients see them: a prefix that says what it is, and a UUID of version 7.

Version 7 begins with the time (RFC 9562), so new rows stand at one end of an index.
"""

from __future__ import annotations

import os
import time
from typing import Final
from uuid import UUID

from mapi.errors import NotFoundError

__all__ = [
    "EXPERIMENT",
    "MEDIA",
    "RUN",
    "VIEW",
    "check_no_id",
    "new_uuid",
    "text_from_uuid",
    "uuid_from_text",
    "uuid_or_none",
]

RUN: Final = "run_"
EXPERIMENT: Final = "exp_"
VIEW: Final = "view_"
MEDIA: Final = "media_"


def new_uuid() -> UUID:
    """Return a new UUID of version 7."""
    milliseconds = time.time_ns() // 1_000_000
    number = (milliseconds << 80) | int.from_bytes(os.urandom(10), "big")
    number = (number & ~(0xF << 76)) | (0x7 << 76)
    number = (number & ~(0x3 << 62)) | (0x2 << 62)
    return UUID(int=number)


def text_from_uuid(prefix: str, found: UUID) -> str:
    """Return the identifier of a row."""
    return f"{prefix}{found}"


def uuid_from_text(prefix: str, text: str) -> UUID:
    """Return the row's number of an identifier; the prefix may be left out.

    Raises:
        NotFoundError: it is no identifier of this kind, so nothing can be called so.
    """
    try:
        return UUID(text.removeprefix(prefix))
    except ValueError:
        raise NotFoundError(
            f"There is nothing called {text[:80]!r} here: an id is given whole."
        ) from None


def uuid_or_none(prefix: str, text: str) -> UUID | None:
    """Return the row's number of an identifier, or ``None`` of any other text: a name."""
    try:
        return uuid_from_text(prefix, text)
    except NotFoundError:
        return None


def check_no_id(prefix: str, name: str, *, what: str) -> str | None:
    """Return what is wrong with a name that reads as an identifier, or ``None``.

    Where a name or an id may be given, an id is looked for first: nothing would be found by such a
    name.

    Args:
        prefix: of the identifiers of its kind.
        name: the name.
        what: its kind with its article, ``a saved view``.
    """
    if uuid_or_none(prefix, name) is None:
        return None
    return (
        f"{name[:80]!r} reads as the id of {what}, which is looked for first: nobody would find it "
        "by its name; take another one"
    )
