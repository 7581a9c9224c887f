"""How much of a value is taken: what has no end must not hold the program until its memory ends.

A length is asked of the built-in type, since a subclass may give more elements than it says. Sizes are
lower bounds: what they refuse could not be stored by any encoder, what they let through the writer of
the line measures.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.arrays import ELEMENTS_MAX

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

__all__ = ["Room", "TooLargeError", "all_elements", "first_elements", "length_of"]

#: ``0,``: no element is shorter in a line.
_ELEMENT_BYTES_MIN: Final = 2
#: ``"":0,``: no member is, beside the characters of its name.
_MEMBER_BYTES_MIN: Final = 5
#: The types whose own length is sure.
_SIZED: Final = (dict, list, tuple, set, frozenset, deque)
#: So few names have no length that is worth the time to add it up.
_NAMES_NOT_ADDED_UP_MAX: Final = 1_000


class TooLargeError(ValueError):
    """A value that no line has room for; its text says so, and nothing of the value."""


class Room:
    """The bytes that a value may still take in its line."""

    __slots__ = ("_left",)

    def __init__(self, bytes_max: int | None) -> None:
        self._left = 1 << 62 if bytes_max is None else bytes_max

    def take(self, size: int) -> None:
        """Take ``size`` bytes.

        Raises:
            TooLargeError: there are not as many left.
        """
        self._left -= size
        if self._left < 0:
            raise TooLargeError("no line within max_record_bytes has room for it")

    def take_elements(self, count: int) -> None:
        """Take what ``count`` elements of a list are at least, as `take` does."""
        self.take(count * _ELEMENT_BYTES_MIN)

    def take_members(self, mapping: Mapping[Any, Any]) -> None:
        """Take what an object with the names of ``mapping`` is at least, as `take` does."""
        count = length_of(mapping)
        self.take(count * _MEMBER_BYTES_MIN)
        if count > _NAMES_NOT_ADDED_UP_MAX and isinstance(mapping, dict):
            # Before anything is made of them: for a million members that alone takes a second.
            self.take(sum(len(name) for name in list(dict.keys(mapping)) if type(name) is str))


def length_of(container: Collection[Any]) -> int:
    """Return the length of a container: that of a built-in one, whatever a subclass says."""
    for kind in _SIZED:
        if isinstance(container, kind):
            return kind.__len__(container)  # type: ignore[arg-type]
    return len(container)


def first_elements(values: Iterable[Any], most: int) -> list[Any]:
    """Return the elements of ``values``, which are at most that many.

    Raises:
        ValueError: there are more.
    """
    taken = list(islice(values, most + 1))
    if len(taken) > most:
        raise ValueError(f"it gives more than {most} elements, and may have no end")
    return taken


def all_elements(values: Collection[Any]) -> list[Any]:
    """Return the elements of a container, as one list: another thread may add some meanwhile.

    Raises:
        ValueError: a class of its own gives more than it has.
    """
    if type(values) in _SIZED:
        return list(values)
    return first_elements(values, max(length_of(values), ELEMENTS_MAX))
