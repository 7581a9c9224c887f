"""Items in an order that should be the platform's as well, compared as they are read."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, Generic, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Expected", "Lineup", "Match"]

#: How far is looked ahead for an item that is not next: as many in a row may be missing and are told as
#: that; of more, what follows counts as extra as well.
_AHEAD: Final = 1_000


class Expected(Protocol):
    """An item of the files."""

    def is_same(self, other: Self, /) -> bool:
        """Say whether nothing differs."""
        ...

    def is_alike(self, other: Self, /) -> bool:
        """Say whether it is the same item with something in it that differs."""
        ...


_Item = TypeVar("_Item", bound=Expected)


class Match(Generic[_Item]):
    """What an item of the platform turned out to be.

    Attributes:
        passed: items of the files before it that the platform has not.
        mine: the item of the files that it is; ``None``: none.
        is_same: whether that differs in nothing.
    """

    def __init__(self, passed: list[_Item], mine: _Item | None, *, is_same: bool) -> None:
        self.passed = passed
        self.mine = mine
        self.is_same = is_same


class Lineup(Generic[_Item]):
    """The items of the files in their order, taken out as the platform's are matched with them.

    Args:
        items: in order.
    """

    def __init__(self, items: Iterator[_Item]) -> None:
        self._items = items
        self._ahead: deque[_Item] = deque()

    def find(self, item: _Item) -> Match[_Item] | None:
        """Take out the item that is the same as one of the platform, and all before it."""
        for at in range(_AHEAD):
            if not self._reaches(at):
                return None
            if self._ahead[at].is_same(item):
                passed = [self._ahead.popleft() for _ in range(at)]
                return Match(passed, self._ahead.popleft(), is_same=True)
        return None

    def find_alike(self, item: _Item) -> Match[_Item] | None:
        """Take out the next item, where it is one of the platform with something that differs."""
        if self._reaches(0) and self._ahead[0].is_alike(item):
            return Match([], self._ahead.popleft(), is_same=False)
        return None

    def rest(self) -> Iterator[_Item]:
        """Yield what was not taken out."""
        yield from self._ahead
        yield from self._items

    def _reaches(self, at: int) -> bool:
        while len(self._ahead) <= at:
            item = next(self._items, None)
            if item is None:
                return False
            self._ahead.append(item)
        return True
