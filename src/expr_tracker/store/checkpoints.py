"""Checksums of a line file as it was written: they tell later that a byte of it has changed.

A checkpoint is an offset and the CRC-32 of all bytes before it. They are taken when the sidecar is
written, from the file itself, soon behind the bytes. A flipped digit leaves a line that reads well;
only this tells that it is not the one that was written, and between which two checkpoints.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from expr_tracker.store.reader import LineFile

__all__ = ["Checkpoints", "changed_lines", "extended", "first_change"]

#: Offset, and CRC-32 of the bytes before it; in the order of the file.
Checkpoints: TypeAlias = "list[tuple[int, int]]"

#: Where they are taken: 40 rows of five metrics.
_SPACING_BYTES: Final = 4096
#: Beyond it every second one is left out: so many take 5 kB of the sidecar.
_KEPT_MAX: Final = 256
_PIECE_BYTES: Final = 1 << 20


def extended(known: Sequence[tuple[int, int]], file: LineFile, size: int) -> Checkpoints:
    """Return the checkpoints up to ``size``, of which those in ``known`` need not be read again.

    Args:
        known: what was taken before; nothing before its last offset has changed on purpose.
        file: the file.
        size: where the last one is to stand.
    """
    found = list(known)
    if found and found[-1][0] % _SPACING_BYTES:
        # It stood at the end of the file as it was, and goes unless it tells a change.
        at, checksum = found[-2] if len(found) > 1 else (0, 0)
        if zlib.crc32(file.read(at, found[-1][0]), checksum) == found[-1][1]:
            del found[-1]
    at, checksum = found[-1] if found else (0, 0)
    while at < size:
        piece = file.read(at, min(size, at - at % _SPACING_BYTES + _PIECE_BYTES))
        if not piece:  # cut off meanwhile
            break
        for start in range(0, len(piece), _SPACING_BYTES):
            part = piece[start : start + _SPACING_BYTES]
            checksum = zlib.crc32(part, checksum)
            at += len(part)
            found.append((at, checksum))
        _thin(found)
    return found


def _thin(found: Checkpoints) -> None:
    """Leave out what stands too close, evenly: of a long file each stretch is a part of 256."""
    spacing = _SPACING_BYTES
    while len(found) > _KEPT_MAX:
        spacing *= 2
        found[:-1] = [each for each in found[:-1] if each[0] % spacing == 0]


def first_change(checkpoints: Sequence[tuple[int, int]], file: LineFile) -> tuple[int, int] | None:
    """Return the first stretch of bytes that is not as it was written; ``None`` where all is.

    Args:
        checkpoints: of the file as it was.
        file: the file as it is.
    """
    at, checksum = 0, 0
    for offset, expected in checkpoints:
        begun = at
        while at < offset:
            piece = file.read(at, min(offset, at + _PIECE_BYTES))
            if not piece:
                return begun, offset
            checksum = zlib.crc32(piece, checksum)
            at += len(piece)
        if checksum != expected:
            return begun, offset
    return None


def changed_lines(
    checkpoints: Sequence[tuple[int, int]], file: LineFile
) -> tuple[int, int] | None:
    """Return the numbers (1-based) of the lines that `first_change` begins and ends in."""
    # What is behind the end is missing, and told of as that.
    found = first_change([each for each in checkpoints if each[0] <= file.size], file)
    if found is None:
        return None
    first = _line_ends(file, 0, found[0]) + 1
    return first, first + _line_ends(file, found[0], found[1] - 1)


def _line_ends(file: LineFile, start: int, stop: int) -> int:
    return sum(
        file.read(at, min(stop, at + _PIECE_BYTES)).count(b"\n")
        for at in range(start, stop, _PIECE_BYTES)
    )
