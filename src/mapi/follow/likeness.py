"""Whether an item of a file is one that the platform has: a number that is the same for both. Pure."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mapi.sdk.checks import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["likeness"]

#: Up to here floats are the integers that they seem to be.
_EXACT_INTEGERS: Final = 2**53


def likeness(parts: Sequence[Any], fields: Any) -> int:
    """Return a number of 64 bits that items have alike which differ in nothing.

    Args:
        parts: texts and whole numbers.
        fields: free JSON, as it stands in a file or as the platform gives it: there names are in any
            order, and 1e300 is an integer.
    """
    content = msgspec.json.encode([*parts, _canonical(plain(fields or None))])
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big")


def _canonical(value: Any) -> Any:
    """Return JSON with its names sorted, and numbers spelled one way."""
    if isinstance(value, dict):
        return [[name, _canonical(value[name])] for name in sorted(value)]
    if isinstance(value, list):
        return [_canonical(one) for one in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = float(value)
        exact = abs(number) <= _EXACT_INTEGERS and number.is_integer()
        return int(value) if exact else repr(number)
    return value
