"""The damage that a reading of one stream met, by the offset of the line, so that it counts once.

What is reported as unreadable is what is lost: two neighbouring lines that are the halves of one
count as one, and lines that damage joined and that were read all the same are counted apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from expr_tracker.notices import counted
from expr_tracker.store.joined import bytes_between, is_whole_with

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Damage"]

#: Bytes parsed to see which damaged lines are halves of one: half a second at worst. Where there is more,
#: more than a byte was damaged, and each further line counts by itself.
_PARSED_BYTES_MAX: Final = 1 << 26


@dataclass
class Damage:
    """The damaged lines of one stream, each by its offset."""

    foreign: set[int] = field(default_factory=set)
    """Lines that are JSON but neither rows nor markers."""
    joined: set[int] = field(default_factory=set)
    """Lines whose end was damaged, so that the next one stands in them; both were read."""
    zeros: dict[int, int] = field(default_factory=dict)
    """Lines that zeros stand in front of, and how many: lines may have stood there."""
    _unreadable: dict[int, int] = field(default_factory=dict)
    _halves: dict[int, bool] = field(default_factory=dict)
    _parsed_bytes: int = 0

    def add_unreadable(self, offset: int, size: int) -> None:
        """Take in a line of ``size`` bytes, its end included."""
        self._unreadable[offset] = size

    def add_zeros(self, offset: int, count: int) -> None:
        """Take in that so many zeros stand in front of the line at ``offset``, which was read."""
        self.zeros[offset] = count

    def offsets(self) -> set[int]:
        """Return where all of it begins."""
        return {*self._unreadable, *self.foreign, *self.joined, *self.zeros}

    def unreadable(self, read: Callable[[int, int], bytes]) -> tuple[int, ...]:
        """Return the offsets of the lines that are lost, in file order.

        Args:
            read: returns the bytes between two offsets.
        """
        found: list[int] = []
        last: int | None = None
        for offset in sorted(self._unreadable):
            is_next = last is not None and last + self._unreadable[last] == offset
            if last is not None and is_next and self._is_second_half(last, offset, read):
                last = None
                continue
            found.append(offset)
            last = offset
        return tuple(found)

    def _is_second_half(self, first: int, second: int, read: Callable[[int, int], bytes]) -> bool:
        known = self._halves.get(second)
        if known is None:
            if self._parsed_bytes >= _PARSED_BYTES_MAX:
                return False
            head = read(first, second)[:-1]
            tail = read(second, second + self._unreadable[second]).rstrip(b"\n")
            self._parsed_bytes += len(head)
            known = False
            for byte in bytes_between(head, tail):
                self._parsed_bytes += len(head) + len(tail)
                if is_whole_with(byte, head, tail):
                    known = True
                    break
            self._halves[second] = known
        return known

    def sentences(
        self, read: Callable[[int, int], bytes], line_number: Callable[[int], int]
    ) -> list[str]:
        """Return what a warning says of it.

        Args:
            read: as for `unreadable`.
            line_number: returns the number of the line at an offset.
        """
        said = []
        unreadable = self.unreadable(read)
        if unreadable:
            count = len(unreadable)
            what = "1 damaged line was" if count == 1 else f"{count} damaged lines were"
            said.append(f"{what} skipped, the first is line {line_number(unreadable[0])}")
        if self.zeros:
            said.append(
                f"{counted(sum(self.zeros.values()), 'zero byte')} stood where lines were or will be "
                f"written, the first in line {line_number(min(self.zeros))}: what was there is lost"
            )
        if self.joined:
            what = (
                "1 line end is" if len(self.joined) == 1 else f"{len(self.joined)} line ends are"
            )
            said.append(
                f"{what} damaged, the first in line {line_number(min(self.joined))} (nothing is "
                "lost: the rows that it joins were read)"
            )
        if self.foreign:
            said.append(
                f"{counted(len(self.foreign), 'line')} without a valid _step skipped, the first is "
                f"line {line_number(min(self.foreign))}"
            )
        return said
