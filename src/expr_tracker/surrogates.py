r"""Halves of surrogate pairs: text that Python holds and no file can.

Such text comes from file names that are no UTF-8, from texts cut within a character, and from
programs that count in UTF-16. UTF-8 has no bytes for a half, and strict JSON parsers stop at its
escape, so a half is stored as the six characters that spell the escape (``\ud800``): which half it
was can still be read, and names that differ by it still differ.
"""

from __future__ import annotations

import re
from typing import Any, Final

__all__ = ["join_halves", "storable", "storable_text"]

_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def join_halves(text: str) -> str:
    """Return a text in which two halves that meet are the character that they mean."""
    if text.isascii():
        return text
    return _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def storable_text(text: str) -> str:
    """Return a text as UTF-8 can hold it; most are returned as they are."""
    if text.isascii():
        return text
    return join_halves(text).encode("utf-8", "backslashreplace").decode()


def storable(value: Any) -> Any:
    """Return a plain value as UTF-8 can hold it, names of members included."""
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, dict):
        return {storable(key): storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [storable(item) for item in value]
    return value
