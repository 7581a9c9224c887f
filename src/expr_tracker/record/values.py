"""The values of one ``log`` call, made plain before the recorder's lock is taken.

User code (``__repr__``, ``tolist``) runs here and only here. Names are checked once: those that a row
may hold as they are stand in ``known``, so that the next call with the same names is a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from expr_tracker.limits import TooLargeError
from expr_tracker.row import INT_LIMIT, RESERVED_NAMES, Row, RowEncoder

if TYPE_CHECKING:
    from expr_tracker.notices import Notices

__all__ = ["PlainValues", "are_numbers"]

#: Names checked once and for all; beyond it every call checks its names again.
_KNOWN_NAMES_MAX: Final = 50_000

#: Of the types of a row's values: whether all are exact numbers, whose use runs no code of the
#: user's. For five values the question takes 0.2 us, a look at each of them twice that.
are_numbers: Final = frozenset({float, int, bool}).issuperset


class PlainValues:
    """Makes what users log plain.

    Attributes:
        known: names that a row may hold as they are.
    """

    def __init__(self, encoder: RowEncoder, notices: Notices) -> None:
        self._encoder = encoder
        self._notices = notices
        self.known: set[str] = set()

    def row(self, data: Any) -> Row | None:
        """Return the values of one call, plain and the caller's no longer.

        ``None`` where no line has room for them; it is counted and said here.
        """
        if type(data) is dict:
            row: Row = data.copy()  # first: another thread may change what is looked at
            if self.known.issuperset(row) and all(map(_is_plain_number, row.values())):
                return row
        try:
            values = self._encoder.row(data)
        except TooLargeError:
            self._notices.count("refused", "rows over max_record_bytes")
            self._notices.once(
                "too large",
                "A row was refused before all of its values had been looked at: the limit "
                f"max_record_bytes is {self._encoder.bytes_max}. Log arrays as artifacts or media, or "
                "raise the limit. Further ones are only counted.",
            )
            return None
        for name in list(values):
            if name[:1] == "_" and name in RESERVED_NAMES:
                del values[name]
                self._notices.count(
                    "refused", f"values under the reserved name {name}", subject="values"
                )
                self._notices.once(
                    ("reserved", name),
                    f"The name {name!r} belongs to the file format: its value is not stored. "
                    "Log it under a name without the underscore.",
                )
            else:
                self._learn(name)
        return values

    def _learn(self, name: str) -> None:
        if name[:1] != "_" and name not in self.known and len(self.known) < _KNOWN_NAMES_MAX:
            self.known.add(name)


def _is_plain_number(value: Any) -> bool:
    kind = type(value)
    return kind is float or kind is bool or (kind is int and -INT_LIMIT < value < INT_LIMIT)
