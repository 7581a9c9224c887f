"""A whole stream as columns, without making a dict of every row.

Lines are decoded into a structure made for the run's own columns (0.6 us a line, where a dict
costs 1 us and its garbage collection another), and appended column by column. Lines out of the
usual — a patch, a superseded step, a value that is no number, damage — take the long way one by
one, so every stream has the same answer as `retrieval` gives row by row.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET

from expr_tracker.history.columns import Columns, cells_of
from expr_tracker.history.nested import heads_of
from expr_tracker.history.question import Question, is_glob
from expr_tracker.history.view import Stretch, View
from expr_tracker.nonfinite import with_nonfinite
from expr_tracker.row import META_NAMES, Row
from expr_tracker.store.lines import are_steps, decoded_lines, is_safe_to_skip

if TYPE_CHECKING:
    from expr_tracker.history.source import Source

__all__ = ["columns_of"]

#: Names that a decoder's field may have: msgspec refuses these characters in one.
_FIELD_REFUSED: Final = re.compile(r'[\\"\x00-\x1f]|[\ud800-\udfff]')
#: Wider rows are decoded as dicts: making a structure of so many fields costs more than it saves.
_FIELDS_MAX: Final = 512


def columns_of(source: Source, view: View, question: Question) -> Columns:
    """Return every merged row of a stream as columns, ascending by step.

    Where the question names its metrics, columns that it has nothing to do with may be left out.
    """
    assert not view.is_by_attempt
    table = _Table(source)
    decoder = _LineDecoder(source, _only(question))
    for stretch in view.stretches(0, source.size):
        for at, piece in source.pieces(stretch.start, stretch.stop):
            cells = decoder.cells(at, piece)
            if cells:
                table.take(cells, stretch)
    row = source.open_row
    if row is not None and view.open_key(row) is not None:
        last = Stretch(source.size, source.size, view.newest, None)
        table.take({name: [value] for name, value in row.items()}, last)
    return table.finished()


def _only(question: Question) -> tuple[str, ...] | None:
    """Return the columns to decode, where the question can say so before the file is read."""
    names = question.metrics
    if names is None or any(is_glob(name) or _FIELD_REFUSED.search(name) for name in names):
        return None
    heads = (
        head for name in names for head, _ in heads_of(name) if not _FIELD_REFUSED.search(head)
    )
    return tuple(dict.fromkeys((*META_NAMES, *names, *heads)))


class _LineDecoder:
    """Decodes pieces of a file into cells by column."""

    def __init__(self, source: Source, only: tuple[str, ...] | None) -> None:
        self._source = source
        self._only = only
        self._names: dict[str, None] = dict.fromkeys(only or ())
        self._decoder: msgspec.json.Decoder[Any] | None = None
        self._is_wide = len(self._names) > _FIELDS_MAX
        if only is not None:
            self._build()

    def _build(self) -> None:
        fields = [(f"f{number}", Any, UNSET) for number in range(len(self._names) + 1)]
        rename = {f"f{number}": name for number, name in enumerate(self._names)}
        rename[f"f{len(self._names)}"] = "_nonfinite"
        line = msgspec.defstruct(
            "Line",
            fields,
            rename=rename,
            gc=False,
            forbid_unknown_fields=self._only is None,
        )
        self._decoder = msgspec.json.Decoder(line)

    def cells(self, at: int, piece: bytes) -> dict[str, list[Any]]:
        """Return the cells of the metric rows in ``piece``; empty where there are none."""
        cells = self._quickly(piece)
        if cells is not None:
            return cells
        rows = self._source.decode(at, piece)
        if not rows:
            return {}
        found = cells_of(rows)
        if self._only is None:
            self._learn(found)
            return found
        count = len(rows)
        return {name: found.get(name) or [UNSET] * count for name in self._names}

    def _learn(self, found: dict[str, list[Any]]) -> None:
        new = [name for name in found if name not in self._names]
        if not new or self._is_wide:
            return
        if len(self._names) + len(new) > _FIELDS_MAX or any(map(_FIELD_REFUSED.search, new)):
            self._is_wide, self._decoder = True, None
            return
        self._names.update(dict.fromkeys(new))
        self._build()

    def _quickly(self, piece: bytes) -> dict[str, list[Any]] | None:
        """Return the cells, or ``None`` where a line is not one plain row of known columns."""
        if self._decoder is None or (self._only is not None and not is_safe_to_skip(piece)):
            return None
        lines = decoded_lines(piece, self._decoder.decode)
        if lines is None:
            return None
        cells = {
            name: list(map(attrgetter(f"f{number}"), lines))
            for number, name in enumerate(self._names)
        }
        steps = cells.get("_step")
        if steps is None or not are_steps(steps):
            return None
        if b'"_nonfinite"' in piece:
            marks = map(attrgetter(f"f{len(self._names)}"), lines)
            _restore(cells, [(i, mark) for i, mark in enumerate(marks) if mark is not UNSET])
        return cells


def _restore(cells: dict[str, list[Any]], marks: list[tuple[int, Any]]) -> None:
    """Put the floats back that the lines' ``_nonfinite`` members name."""
    for i, found in marks:
        row: Row = {name: values[i] for name, values in cells.items() if values[i] is not UNSET}
        row["_nonfinite"] = found
        for name, value in with_nonfinite(row).items():
            cells[name][i] = value


class _Table:
    """Columns whose rows ascend by step, and apart from them those whose step came late."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._columns = Columns()
        #: The steps of the columns: the very numbers of their column ``_step``.
        self._steps: array[int] = array("q")
        self._late = Columns()
        self._late_rows: dict[int, int] = {}

    def take(self, cells: dict[str, list[Any]], stretch: Stretch) -> None:
        """Add the lines of a piece, in file order."""
        steps = cells["_step"]
        count = len(steps)
        if stretch.cut is None and self._goes_on(steps):
            self._append(cells, 0, count)
            return
        start = 0
        while start < count:
            stop = self._run_end(steps, start, stretch.cut)
            if stop > start:
                self._append(cells, start, stop)
                start = stop
                continue
            if stretch.cut is None or steps[start] < stretch.cut:
                self._patch(cells, start)
            start += 1

    def _goes_on(self, steps: list[int]) -> bool:
        if self._steps and self._steps[-1] >= steps[0]:
            return False
        return all(map(int.__lt__, steps, steps[1:]))

    def _run_end(self, steps: list[int], start: int, cut: int | None) -> int:
        """Return where the lines end, from ``start`` on, that only add higher steps."""
        last = self._steps[-1] if self._steps else None
        stop = start
        while stop < len(steps):
            step = steps[stop]
            if (last is not None and step <= last) or (cut is not None and step >= cut):
                break
            last = step
            stop += 1
        return stop

    def _append(self, cells: dict[str, list[Any]], start: int, stop: int) -> None:
        if start == 0 and stop == len(cells["_step"]):
            self._columns.extend(cells, stop)
        else:
            part = {name: values[start:stop] for name, values in cells.items()}
            self._columns.extend(part, stop - start)
        steps = self._columns.by_name["_step"].numbers
        assert steps is not None
        self._steps = steps

    def _patch(self, cells: dict[str, list[Any]], i: int) -> None:
        row: Row = {name: values[i] for name, values in cells.items() if values[i] is not UNSET}
        step = row["_step"]
        at = bisect_left(self._steps, step)
        if at < len(self._steps) and self._steps[at] == step:
            self._columns.patch(at, row)
        elif step in self._late_rows:
            self._late.patch(self._late_rows[step], row)
        else:
            self._late_rows[step] = self._late.length
            self._late.append_row(row)

    def finished(self) -> Columns:
        """Return all rows, ascending by step, columns without any cell left out."""
        columns = self._columns
        if self._late_rows:
            steps = [*self._steps, *self._late_rows]
            columns.append_columns(self._late)
            columns = columns.taken(sorted(range(len(steps)), key=steps.__getitem__))
        columns.finish()
        for name in [name for name, column in columns.by_name.items() if not any(column.marks)]:
            del columns.by_name[name]
        return columns
