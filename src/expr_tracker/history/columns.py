"""Columns: rows turned on their side, exactly.

A `Column` keeps numbers in a machine array and everything else apart, so a million floats cost nine
bytes each while a stray text loses neither itself nor its neighbours. What kind of column it is in
the end (`Column.kind`) follows from the cells that are left after all patches, and so does what
stands aside of its numbers (`Column.aside`), for which a table has a second column.
"""

from __future__ import annotations

from array import array
from operator import itemgetter
from struct import error as StructError  # noqa: N812 - its own name says nothing
from struct import pack
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import UNSET, UnsetType

from expr_tracker.history.nested import Way, reached
from expr_tracker.row import STEP_MAX, STEP_MIN, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "BOOL",
    "FLOAT",
    "FLOAT_EXACT_MAX",
    "INT",
    "MISSING",
    "NULL",
    "OTHER",
    "SIDE",
    "Column",
    "Columns",
    "Kind",
    "cells_of",
    "side_names",
]

Kind = Literal["float", "int", "bool", "text", "nested", "null"]

#: The ending of the second column's name; its cells are JSON, in exported files as in tables.
SIDE: Final = "#json"
#: What a cell is, one byte each; numbers come last so that one comparison tells them apart.
MISSING, NULL, OTHER, BOOL, INT, FLOAT = range(6)
#: Every whole number up to here is a float; the next one is not.
FLOAT_EXACT_MAX: Final = 2**53
_FLOATS: Final[dict[type, int]] = {UnsetType: MISSING, NoneType: NULL, float: FLOAT}
_INTS: Final[dict[type, int]] = {UnsetType: MISSING, NoneType: NULL, int: INT}
_FLOAT_KINDS: Final = frozenset(_FLOATS)
_INT_KINDS: Final = frozenset(_INTS)


def side_names(with_side: Iterable[str], existing: Iterable[str]) -> dict[str, str]:
    """Return the name of the second column of each column that has one.

    It is ``NAME#json``, longer where a metric or another second column has that very name.
    """
    taken = set(existing)
    names: dict[str, str] = {}
    for name in with_side:
        second = name + SIDE
        while second in taken:
            second += SIDE
        taken.add(second)
        names[name] = second
    return names


class Column:
    """One metric's cells, by row number."""

    __slots__ = ("marks", "numbers", "others", "wide")

    def __init__(self, length: int = 0) -> None:
        self.marks = bytearray(length)
        #: Whole numbers (``q``) until the first float (``d``); ``None`` until the first number.
        self.numbers: array[Any] | None = None
        self.others: dict[int, Any] = {}
        #: Integers that ``numbers`` does not hold exactly, and all beyond 64 bits.
        self.wide: dict[int, int] = {}

    def pad(self, length: int) -> None:
        """Append missing cells up to ``length``."""
        more = length - len(self.marks)
        if more > 0:
            self.marks += bytes(more)
            if self.numbers is not None:
                self.numbers.frombytes(bytes(8 * more))

    def extend(self, values: list[Any]) -> None:
        """Append cells; ``UNSET`` is a missing one."""
        kinds = set(map(type, values))
        if kinds <= _FLOAT_KINDS and float in kinds:
            self._extend_numbers(values, "d", _FLOATS if len(kinds) > 1 else None)
        elif kinds <= _INT_KINDS and int in kinds and self._takes_whole():
            try:
                self._extend_numbers(values, "q", _INTS if len(kinds) > 1 else None)
            except OverflowError:
                self._extend_singly(values)
        elif kinds == {UnsetType}:
            self.pad(len(self.marks) + len(values))
        else:
            self._extend_singly(values)

    def _takes_whole(self) -> bool:
        return self.numbers is None or self.numbers.typecode == "q"

    def _extend_numbers(
        self, values: list[Any], typecode: Literal["q", "d"], kinds: dict[type, int] | None
    ) -> None:
        if kinds is None:
            # Twice as fast as array(typecode, values), which boxes every number once more.
            fresh: array[Any] = array(typecode)
            try:
                fresh.frombytes(pack(f"{len(values)}{typecode}", *values))
            except StructError:
                raise OverflowError from None
            marks = bytes([FLOAT if typecode == "d" else INT]) * len(values)
        else:
            marks = bytes(map(kinds.__getitem__, map(type, values)))
            zero: Any = 0.0 if typecode == "d" else 0
            filled = [v if m > NULL else zero for v, m in zip(values, marks, strict=True)]
            fresh = array("d", filled) if typecode == "d" else array("q", filled)
        self._numbers_of(typecode).extend(fresh)
        self.marks += marks

    def _extend_singly(self, values: list[Any]) -> None:
        row = len(self.marks)
        self.pad(row + len(values))
        for value in values:
            if value is not UNSET:
                self.put(row, value)
            row += 1

    def put(self, row: int, value: Any) -> None:
        """Set the cell of a row that exists, whatever it was before."""
        mark = _mark(value)
        if self.marks[row] == OTHER:
            del self.others[row]
        if self.wide:
            self.wide.pop(row, None)
        self.marks[row] = mark
        if mark == FLOAT:
            self._numbers_of("d")[row] = value
        elif mark == OTHER:
            self.others[row] = value
        elif mark >= BOOL:
            self._put_whole(row, int(value))

    def _put_whole(self, row: int, value: int) -> None:
        if self._takes_whole() and STEP_MIN <= value <= STEP_MAX:
            self._numbers_of("q")[row] = value
            return
        numbers = self._numbers_of("d")
        self.wide.pop(row, None)  # the change to floats may have noted what stood here
        try:
            near = float(value)
        except OverflowError:
            # No float comes near it: a table shows null, and the number beside it.
            self.marks[row] = OTHER
            self.others[row] = value
            return
        numbers[row] = near
        if int(near) != value or not STEP_MIN <= value <= STEP_MAX:
            self.wide[row] = value

    def _numbers_of(self, typecode: Literal["q", "d"]) -> array[Any]:
        """Return the numbers, able to hold whole numbers (``q``) or floats (``d``)."""
        numbers = self.numbers
        if numbers is None:
            numbers = array(typecode, bytes(8 * len(self.marks)))
        elif typecode == "d" and numbers.typecode == "q":
            for row, value in enumerate(numbers):
                if int(float(value)) != value and self.marks[row] == INT:
                    self.wide[row] = value
            numbers = array("d", numbers)
        self.numbers = numbers
        return numbers

    def kind(self) -> Kind:
        """Return what the column is, judged by its cells as they are now."""
        marks = set(self.marks)
        if FLOAT in marks or self._has_beyond_64_bits():
            return "float"
        if INT in marks:
            return "int"
        if BOOL in marks:
            return "bool"
        if OTHER not in marks:
            return "null"
        return "text" if set(map(type, self.others.values())) == {str} else "nested"

    def _has_beyond_64_bits(self) -> bool:
        return any(not STEP_MIN <= value <= STEP_MAX for value in self.wide.values()) or (
            int in set(map(type, self.others.values()))
        )

    def whole_numbers(self) -> array[int]:
        """Return the cells of an ``int`` column, every one exact."""
        numbers = self.numbers
        if numbers is None or numbers.typecode == "q":
            return numbers if numbers is not None else array("q", bytes(8 * len(self.marks)))
        whole = array("q", bytes(8 * len(numbers)))
        for row, mark in enumerate(self.marks):
            if mark >= BOOL:
                whole[row] = self.wide.get(row, int(numbers[row]))
        return whole

    def floats(self) -> array[float]:
        """Return the cells of a ``float`` column; 0 where there is no number."""
        return self._numbers_of("d")

    def is_beyond_floats(self) -> bool:
        """Say whether it has whole numbers that are large enough for a float to round them."""
        numbers = self.numbers
        if numbers is None or numbers.typecode == "d" or not numbers:
            return False
        return bool(max(numbers) > FLOAT_EXACT_MAX or min(numbers) < -FLOAT_EXACT_MAX)

    def set_apart_beyond(self) -> None:
        """Move whole numbers beyond 64 bits from the numbers to the other values."""
        for row, value in list(self.wide.items()):
            if not STEP_MIN <= value <= STEP_MAX:
                del self.wide[row]
                self.marks[row] = OTHER
                self.others[row] = value

    def aside(self) -> dict[int, Any]:
        """Return by row what the finished column, if it is one of numbers, does not show.

        Those are values that are no number, and whole numbers that a float column rounds. Other
        columns show everything.
        """
        kind = self.kind()
        if kind == "float":
            near = self.floats()
            rounded = {row: whole for row, whole in self.wide.items() if int(near[row]) != whole}
            return {**self.others, **rounded}
        return self.others if kind in ("int", "bool") else {}

    def taken(self, rows: list[int]) -> Column:
        """Return a column of these rows, in this order."""
        column = Column()
        take = itemgetter(*rows) if len(rows) > 1 else lambda cells: tuple(cells[r] for r in rows)
        column.marks = bytearray(take(self.marks))
        if self.numbers is not None:
            column.numbers = array(self.numbers.typecode, take(self.numbers))
        if self.others or self.wide:
            for new, old in enumerate(rows):
                if old in self.others:
                    column.others[new] = self.others[old]
                if old in self.wide:
                    column.wide[new] = self.wide[old]
        return column

    def append_column(self, other: Column) -> None:
        """Append the cells of another column."""
        start = len(self.marks)
        if other.numbers is not None:
            floats = self.numbers is not None and self.numbers.typecode == "d"
            typecode: Literal["q", "d"] = "d" if floats or other.numbers.typecode == "d" else "q"
            numbers = self._numbers_of(typecode)
            if typecode == "d" and other.numbers.typecode == "q":
                numbers.extend(array("d", other._numbers_of("d")))
            else:
                numbers.extend(other.numbers)
        elif self.numbers is not None:
            self.numbers.frombytes(bytes(8 * len(other.marks)))
        self.marks += other.marks
        for row, value in other.others.items():
            self.others[start + row] = value
        for row, whole in other.wide.items():
            self.wide[start + row] = whole

    def cells(self) -> Iterator[Any]:
        """Yield the cells as they were logged; ``UNSET`` for a missing one."""
        for row, mark in enumerate(self.marks):
            if mark == MISSING:
                yield UNSET
            elif mark == NULL:
                yield None
            elif mark == OTHER:
                yield self.others[row]
            else:
                assert self.numbers is not None
                value = self.wide.get(row, self.numbers[row])
                yield bool(value) if mark == BOOL else int(value) if mark == INT else value


def _mark(value: Any) -> int:
    if isinstance(value, float):
        return FLOAT
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT
    return NULL if value is None else OTHER


class Columns:
    """A table under construction: columns of one length, in the order they were first seen."""

    def __init__(self) -> None:
        self.by_name: dict[str, Column] = {}
        self.length = 0

    @classmethod
    def from_rows(cls, rows: list[Row]) -> Columns:
        """Return the columns of finished rows."""
        columns = cls()
        columns.extend(cells_of(rows), len(rows))
        return columns

    def extend(self, cells: dict[str, list[Any]], count: int) -> None:
        """Append ``count`` rows, given column by column."""
        for name, values in cells.items():
            column = self.by_name.get(name)
            if column is None:
                column = self.by_name[name] = Column(self.length)
            else:
                column.pad(self.length)
            column.extend(values)
        self.length += count

    def append_row(self, row: Row) -> None:
        """Append one row."""
        self.extend({name: [value] for name, value in row.items()}, 1)

    def patch(self, at: int, row: Row) -> None:
        """Merge a later line of the same step into row ``at``; its first time stays."""
        for name, value in row.items():
            column = self.by_name.get(name)
            if column is None:
                column = self.by_name[name] = Column(self.length)
            column.pad(self.length)
            if name != "_time" or column.marks[at] == MISSING:
                column.put(at, value)

    def add_missing(self, names: Iterable[str]) -> None:
        """Make a column without values for every name that has none."""
        for name in names:
            self.by_name.setdefault(name, Column(self.length))

    def dicts_of(self, name: str) -> list[Row]:
        """Return the dicts among the cells of a column, by row."""
        others = self.by_name[name].others
        return [others[row] for row in sorted(others) if isinstance(others[row], dict)]

    def reach(self, ways: dict[str, list[Way]]) -> None:
        """Fill the cells that are missing with what the ways into dicts lead to."""
        self.finish()
        for name, found in ways.items():
            heads = [self.by_name[head].others for head, _ in found]
            for row in sorted(set[int]().union(*heads)):
                cells = {
                    head: others[row]
                    for (head, _), others in zip(found, heads, strict=True)
                    if row in others
                }
                value = reached(cells, found)
                if value is UNSET:
                    continue
                column = self.by_name.setdefault(name, Column(self.length))
                if column.marks[row] == MISSING:
                    column.put(row, value)

    def finish(self) -> None:
        """Give every column the full length."""
        for column in self.by_name.values():
            column.pad(self.length)

    def taken(self, rows: list[int]) -> Columns:
        """Return a table of these rows, in this order."""
        table = Columns()
        self.finish()
        table.by_name = {name: column.taken(rows) for name, column in self.by_name.items()}
        table.length = len(rows)
        return table

    def append_columns(self, other: Columns) -> None:
        """Append the rows of another table."""
        other.finish()
        for name, column in other.by_name.items():
            mine = self.by_name.get(name)
            if mine is None:
                mine = self.by_name[name] = Column(self.length)
            mine.pad(self.length)
            mine.append_column(column)
        self.length += other.length
        self.finish()

    def selected(self, names: Iterable[str]) -> Columns:
        """Return a table of these columns, those that do not exist left out."""
        table = Columns()
        self.finish()
        table.by_name = {name: self.by_name[name] for name in names if name in self.by_name}
        table.length = self.length
        return table


def cells_of(rows: list[Row]) -> dict[str, list[Any]]:
    """Return the cells of rows by column; ``UNSET`` where a row lacks the name."""
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    return {name: [row.get(name, UNSET) for row in rows] for name in names}
