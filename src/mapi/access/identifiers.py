"""Identifiers as clients see them: a prefix that says what it is, and a UUID of version 7.

Version 7 begins with the time (RFC 9562), so new rows stand at one end of an index.
"""

from __future__ import annotations

import os
import time
from typing import Final
from uuid import UUID

from mapi.errors import NotFoundError

__all__ = ["EXPERIMENT", "MEDIA", "RUN", "VIEW", "new_uuid", "text_from_uuid", "uuid_from_text"]

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
        raise NotFoundError(f"There is nothing called {text[:80]!r} here.") from None
