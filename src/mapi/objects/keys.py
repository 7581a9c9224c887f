"""What an object may be called: the one place where a key or a path from outside is read.

A key is made of folders and a name, all of letters, digits and ``. _ - = +``, none of them
beginning with a dot. So no key is absolute or has a way up, and it means the same to a file system,
a bucket and a URL. What is not a key is refused, never repaired.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from mapi.errors import Fault, InvalidError

__all__ = ["FOLDER_LENGTH_MAX", "KEY_LENGTH_MAX", "checked_folder", "checked_key", "key_from_url"]

#: A bucket takes 1 024 bytes, and there is a prefix before ours.
KEY_LENGTH_MAX: Final = 512
#: File systems take 255 bytes.
FOLDER_LENGTH_MAX: Final = 200
_PART: Final = re.compile(r"[A-Za-z0-9_=+-][A-Za-z0-9._=+-]*")
_SHOWN: Final = 80


def checked_key(key: str) -> str:
    """Return the key, which is one.

    Raises:
        InvalidError: it is none.
    """
    wrong = _wrong(key)
    if wrong is not None:
        shown = repr(key) if len(key) <= _SHOWN else f"{key[:_SHOWN]!r}..."
        raise InvalidError(Fault("/key", f"{shown} is no key of an object: {wrong}"))
    return key


def checked_folder(folder: str) -> str:
    """Return the folder without a slash at the end; empty is the whole store.

    Raises:
        InvalidError: it is none.
    """
    return checked_key(folder.removesuffix("/")) if folder else ""


def key_from_url(path: str) -> str:
    """Return the key that a part of a URL spells.

    It is decoded here, and once: who got it decoded already calls `checked_key`.

    Raises:
        InvalidError: it spells none; what is encoded twice has a percent sign left, as no key has.
    """
    try:
        return checked_key(unquote(path, errors="strict"))
    except UnicodeDecodeError:
        raise InvalidError(Fault("/key", "the key is not encoded in UTF-8")) from None


def _wrong(key: str) -> str | None:
    if not 1 <= len(key) <= KEY_LENGTH_MAX:
        return f"it has {len(key)} characters: 1 to {KEY_LENGTH_MAX}"
    for part in key.split("/"):
        if len(part) > FOLDER_LENGTH_MAX:
            return f"a part of it has {len(part)} characters: at most {FOLDER_LENGTH_MAX}"
        if not _PART.fullmatch(part):
            return (
                "its parts are made of letters, digits and . _ - = +, none is empty or begins "
                "with a dot"
            )
    return None
