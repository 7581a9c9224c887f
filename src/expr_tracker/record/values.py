"""The values of one ``log`` call, made plain before the recorder's lock is taken.

User code (``__repr__``, ``tolist``) runs here and only here. Names are checked once: those that a row
may hold as they are stand in ``known``, so that the next call with the same names is a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from expr_tracker.record.finite import is_plain_number, is_the_datas
from expr_tracker.row import RESERVED_NAMES, Row, RowEncoder

if TYPE_CHECKING:
    from expr_tracker.notices import Notices

__all__ = ["PlainValues"]

#: Names checked once and for all; beyond it every call checks its names again.
_KNOWN_NAMES_MAX: Final = 50_000


class PlainValues:
    """Makes what users log plain.

    Attributes:
        known: names that a row may hold as they are.
    """

    def __init__(self, encoder: RowEncoder, notices: Notices) -> None:
        self._encoder = encoder
        self._notices = notices
        self.known: set[str] = set()

    def row(self, data: Any) -> Row:
        """Return the values of one call, plain and the caller's no longer."""
        if type(data) is dict and self.known.issuperset(data):
            try:
                total: Any = sum(data.values())
                is_number = type(total) is float or type(total) is int
                if is_number and total - total == 0 and all(map(is_plain_number, data.values())):
                    return data.copy()
            except Exception as error:
                if not is_the_datas(error, data):
                    raise
        values = self._encoder.row(data)
        for name in list(values):
            if name[:1] == "_" and name in RESERVED_NAMES:
                del values[name]
                self._notices.count("refused", f"values named {name}", subject="values")
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
