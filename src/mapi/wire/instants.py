"""The times of a request, all of them in UTC, and what types a type is built of.

RFC 3339 has offsets of up to 23:59 and PostgreSQL takes none of 16 hours or more, so no time keeps
the one it came with: it is the same moment, and nobody is told the offset again.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect

__all__ = ["NoInstantError", "has_part", "to_utc"]

_Path = tuple[str | int, ...]


class NoInstantError(Exception):
    """A time whose moment is before the year 1 or after the year 9999 in UTC; with its path."""

    def __init__(self, path: _Path, time: datetime) -> None:
        super().__init__(f"{time.isoformat()} is outside of the years 1 to 9999 in UTC")
        self.path = path


@lru_cache(maxsize=256)
def has_part(kind: type, part: type[inspect.Type]) -> bool:
    """Whether a type of this kind stands somewhere in a struct.

    Args:
        kind: a struct.
        part: as `msgspec.inspect` calls it.
    """
    return any(isinstance(one, part) for one in _parts(inspect.type_info(kind), set()))


def to_utc(found: object, path: _Path = ()) -> None:
    """Put every time of a struct, or of structs in a list, in UTC; one without a zone stays so.

    Only where a type has times is looked at all: of a batch in columns nothing is.

    Raises:
        NoInstantError: UTC has no such time.
    """
    if isinstance(found, msgspec.Struct):
        for name, encoded in _timed_fields(type(found)):
            one = getattr(found, name)
            if isinstance(one, datetime):
                if one.tzinfo is not UTC and one.tzinfo is not None:
                    setattr(found, name, _in_utc(one, (*path, encoded)))
            elif isinstance(one, msgspec.Struct | list | dict):
                to_utc(one, (*path, encoded))
    elif isinstance(found, list):
        for at, one in enumerate(found):
            to_utc(one, (*path, at))
    elif isinstance(found, dict):
        for key, one in found.items():
            to_utc(one, (*path, key))


def _in_utc(time: datetime, path: _Path) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise NoInstantError(path, time) from None


@lru_cache(maxsize=256)
def _timed_fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    """Return the fields that hold times, at any depth: their names here and on the wire."""
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    return tuple(
        (one.name, one.encode_name)
        for one in described.fields
        if any(isinstance(part, inspect.DateTimeType) for part in _parts(one.type, set()))
    )


def _parts(kind: inspect.Type, seen: set[Any]) -> Iterator[inspect.Type]:
    yield kind
    below: list[inspect.Type] = []
    if isinstance(kind, inspect.StructType):
        if kind.cls in seen:
            return
        seen.add(kind.cls)
        below = [one.type for one in kind.fields]
    elif isinstance(kind, inspect.Metadata):
        below = [kind.type]
    elif isinstance(kind, inspect.UnionType):
        below = list(kind.types)
    elif isinstance(kind, inspect.ListType):
        below = [kind.item_type]
    elif isinstance(kind, inspect.DictType):
        below = [kind.value_type]
    for one in below:
        yield from _parts(one, seen)
