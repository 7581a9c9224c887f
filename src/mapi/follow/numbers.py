"""The number of a place in a file: how far it is, and a mark of what stands before it. Pure.

By it a queue tells whether a file still is the one that was delivered. That it was cut, that something
was put into it, that another file has its name now: each shows by the bytes before the place, of which the
number has a checksum. What was changed further back, with as many bytes as before, does not.

Numbers rise with the offsets. Up to an offset of 128 GiB they are below 2^53, which every reader of JSON
takes whole.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ENDED", "MARKED_BYTES", "fits", "number_at", "number_of", "offset_of"]

#: Of the file, before the place. A line of it has the time in microseconds.
MARKED_BYTES: Final = 4 << 10
#: One file in 65 536 that is another one and has a line's end at the same place is taken for the same.
_MARK_BITS: Final = 16
#: Where a queue stands that has ended: nothing can follow.
ENDED: Final = 2**63 - 1


def number_of(offset: int, before: bytes) -> int:
    """Return the number of a place.

    Args:
        offset: in bytes; at most 2^47 - 1.
        before: what stands before it: the last `MARKED_BYTES`, or all there is.
    """
    mark = zlib.crc32(before[-MARKED_BYTES:]) & ((1 << _MARK_BITS) - 1)
    return offset << _MARK_BITS | mark


def offset_of(number: int) -> int:
    """Return the offset of a place; 0 where nothing was delivered yet (-1)."""
    return max(0, number) >> _MARK_BITS


def number_at(read: Callable[[int, int], bytes], offset: int) -> int:
    """Return the number of a place in a file.

    Args:
        read: returns the bytes between two offsets of it.
        offset: the place.
    """
    return number_of(offset, read(max(0, offset - MARKED_BYTES), offset))


def fits(read: Callable[[int, int], bytes], number: int, *, size: int) -> bool:
    """Say whether a file can have been delivered up to a place.

    Args:
        read: returns the bytes between two offsets of it.
        number: of the place; -1: nothing was delivered.
        size: of the file.
    """
    offset = offset_of(number)
    if offset > size:
        return False
    ends_line = offset == 0 or read(offset - 1, offset) == b"\n"
    return number < 0 or (ends_line and number_at(read, offset) == number)
