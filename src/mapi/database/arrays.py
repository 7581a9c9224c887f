"""Columns of numbers, and of texts, as PostgreSQL arrays in its binary form, straight from memory.

A list of Python objects costs a dozen times more to make and to send. Importing this module teaches
every connection that is opened from then on to send them; to read them a cursor is told to.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import AsyncCursor
    from psycopg.abc import Buffer
    from psycopg.rows import TupleRow

__all__ = ["FloatArray", "IntArray", "TextArray", "TimeArray", "reading_arrays"]

#: PostgreSQL counts microseconds from 2000-01-01 UTC.
_EPOCH_US: Final = 946_684_800_000_000
#: Dimensions, whether there are nulls, the type of the elements; the size and the lower bound of
#: the one dimension (`array_send` in PostgreSQL's src/backend/utils/adt/arrayfuncs.c).
_HEAD: Final = struct.Struct(">iiIii")
_EMPTY: Final = struct.Struct(">iiI")
#: Before each element.
_SIZE: Final = struct.Struct(">i")
#: The type of the elements of texts.
_TEXT: Final = 25


@dataclass(frozen=True, slots=True)
class IntArray:
    """Whole numbers, as ``int8[]``."""

    numbers: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FloatArray:
    """Numbers, as ``float8[]``; none is null."""

    numbers: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TimeArray:
    """Microseconds since 1970 UTC, as ``timestamptz[]``."""

    numbers: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TextArray:
    """Texts, as ``text[]``; none is null."""

    texts: Sequence[str]


class _TextDumper(Dumper):
    format = Format.BINARY
    oid = 1009

    def dump(self, obj: TextArray) -> Buffer:
        if not obj.texts:
            return _EMPTY.pack(0, 0, _TEXT)
        parts = [_HEAD.pack(1, 0, _TEXT, len(obj.texts), 1)]
        for text in obj.texts:
            content = text.encode()
            parts += (_SIZE.pack(len(content)), content)
        return b"".join(parts)


class _ArrayDumper(Dumper):
    format = Format.BINARY
    element_oid: ClassVar[int]
    rows: ClassVar[np.dtype[np.void]]
    offset: ClassVar[int] = 0

    def dump(self, obj: IntArray | FloatArray | TimeArray) -> Buffer:
        count = len(obj.numbers)
        if not count:
            return _EMPTY.pack(0, 0, self.element_oid)
        rows = np.empty(count, dtype=self.rows)
        rows["size"] = 8
        rows["element"] = obj.numbers - self.offset if self.offset else obj.numbers
        return _HEAD.pack(1, 0, self.element_oid, count, 1) + rows.tobytes()


class _IntDumper(_ArrayDumper):
    oid = 1016
    element_oid = 20
    rows = np.dtype([("size", ">i4"), ("element", ">i8")])


class _FloatDumper(_ArrayDumper):
    oid = 1022
    element_oid = 701
    rows = np.dtype([("size", ">i4"), ("element", ">f8")])


class _TimeDumper(_ArrayDumper):
    oid = 1185
    element_oid = 1184
    rows = np.dtype([("size", ">i4"), ("element", ">i8")])
    offset = _EPOCH_US


psycopg.adapters.register_dumper(TextArray, _TextDumper)
psycopg.adapters.register_dumper(IntArray, _IntDumper)
psycopg.adapters.register_dumper(FloatArray, _FloatDumper)
psycopg.adapters.register_dumper(TimeArray, _TimeDumper)


class _ArrayLoader(Loader):
    format = Format.BINARY
    rows: ClassVar[np.dtype[np.void]]
    native: ClassVar[type[np.generic]]

    def load(self, data: Buffer) -> npt.NDArray[np.generic]:
        content = memoryview(data)
        dimensions, has_nulls, _ = _EMPTY.unpack_from(content)
        if not dimensions:
            return np.zeros(0, dtype=self.native)
        if dimensions != 1 or has_nulls:
            raise ValueError("only arrays of one dimension and without nulls are columns")
        return np.frombuffer(content, self.rows, offset=_HEAD.size)["element"].astype(self.native)


class _IntLoader(_ArrayLoader):
    rows = _IntDumper.rows
    native = np.int64


class _FloatLoader(_ArrayLoader):
    rows = _FloatDumper.rows
    native = np.float64


class _TimeLoader(_IntLoader):
    def load(self, data: Buffer) -> npt.NDArray[np.int64]:
        return super().load(data).astype(np.int64) + _EPOCH_US


def reading_arrays(cursor: AsyncCursor[TupleRow]) -> AsyncCursor[TupleRow]:
    """Let a cursor read arrays of NumPy; what it asks is binary.

    ``int8[]`` and ``float8[]`` are what they say, ``timestamptz[]`` microseconds since 1970 UTC.
    """
    cursor.adapters.register_loader(_IntDumper.oid, _IntLoader)
    cursor.adapters.register_loader(_FloatDumper.oid, _FloatLoader)
    cursor.adapters.register_loader(_TimeDumper.oid, _TimeLoader)
    return cursor
