"""A question answered from one or more sources: rows or a table, with the columns asked for.

What only tables need is imported for tables: ``et history`` and a live query of rows do without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET

from expr_tracker.history.nested import Way, names_meant, reached, ways_to
from expr_tracker.history.retrieval import rows_of
from expr_tracker.history.view import View
from expr_tracker.row import META_NAMES, Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from expr_tracker.history.columns import Columns
    from expr_tracker.history.question import Question
    from expr_tracker.history.source import Source

__all__ = ["Labelled", "answer", "answer_several", "project"]

#: What tells rows of several producers or attempts apart; it stays without the meta columns.
_ORIGIN: Final = ("_stream", "_rank", "_attempt")


@dataclass(frozen=True)
class Labelled:
    """A source among several, and the columns that name it."""

    source: Source
    origin: Row


def answer(source: Source, question: Question) -> Any:
    """Return the rows of one stream, or the table that the question asks for."""
    view = View(source.index.attempts, question.attempt)
    is_whole = question.n is None and not question.has_range and not view.is_by_attempt
    if question.output != "dict" and is_whole and not question.is_empty:
        from expr_tracker.history.bulk import columns_of  # noqa: PLC0415 - tables only
        from expr_tracker.history.frames import frame_of  # noqa: PLC0415
        from expr_tracker.history.plain import plain_table  # noqa: PLC0415

        table = plain_table(source, question)
        if table is not None:
            return table
        columns = _refined(columns_of(source, view, question), question)
        return frame_of(columns, question.output, str(source.path))
    rows, names = project(rows_of(source, question, view), question)
    return _form(rows, names, question=question, label=str(source.path))


def answer_several(parts: Sequence[Labelled], question: Question) -> Any:
    """Return the rows of several streams, each on its own steps, one stream after the other."""
    gathered: list[Row] = []
    for part in parts:
        view = View(part.source.index.attempts, question.attempt)
        rows = rows_of(part.source, question, view)
        gathered += [{**_meta_of(row), **part.origin, **row} for row in rows]
    rows, names = project(gathered, question)
    label = str(parts[0].source.path.parent) if parts else "history"
    return _form(rows, names, question=question, label=label)


def _meta_of(row: Row) -> Row:
    return {name: row[name] for name in META_NAMES if name in row}


def _form(rows: list[Row], names: list[str] | None, *, question: Question, label: str) -> Any:
    if question.output == "dict":
        return rows
    from expr_tracker.history.columns import Columns  # noqa: PLC0415 - tables only
    from expr_tracker.history.frames import frame_of  # noqa: PLC0415

    columns = Columns.from_rows(rows)
    if names is not None:
        lead = [*META_NAMES, *_ORIGIN]
        columns = columns.selected([*lead, *(name for name in names if name not in lead)])
    return frame_of(columns, question.output, label)


def project(rows: list[Row], question: Question) -> tuple[list[Row], list[str] | None]:
    """Return the rows with the columns asked for, and the names that ``metrics`` meant."""
    if question.metrics is None:
        return _with_every_column(rows, question), None
    existing: dict[str, None] = {}
    for row in rows:
        existing.update(dict.fromkeys(row))
    names = names_meant(question.metrics, existing, lambda name: _dicts_among(rows, name))
    rows = _with_reached(rows, {name: ways_to(name, existing) for name in names})
    if question.dropna:
        rows = [row for row in rows if any(name in row for name in names)]
    lead = (*META_NAMES, *_ORIGIN) if question.include_meta else _ORIGIN
    kept = []
    for row in rows:
        shown = {name: row[name] for name in lead if name in row}
        for name in names:
            if name in row:
                shown[name] = row[name]
            elif question.fill_missing:
                shown[name] = None
        kept.append(shown)
    return kept, names


def _dicts_among(rows: list[Row], name: str) -> list[Row]:
    return [value for row in rows if isinstance(value := row.get(name), dict)]


def _with_reached(rows: list[Row], ways: dict[str, list[Way]]) -> list[Row]:
    """Return the rows with the values that a path into a dict leads to, under the path's name."""
    ways = {name: found for name, found in ways.items() if found}
    if not ways:
        return rows
    return [
        {
            **row,
            **{
                name: value
                for name, found in ways.items()
                if name not in row and (value := reached(row, found)) is not UNSET
            },
        }
        for row in rows
    ]


def _with_every_column(rows: list[Row], question: Question) -> list[Row]:
    for i, row in enumerate(rows):
        if next(iter(row)) != "_step":  # a line that another program wrote
            rows[i] = {**_meta_of(row), **row}
    if question.fill_missing:
        union: dict[str, None] = {}
        for row in rows:
            union.update(dict.fromkeys(row))
        rows = [{name: row.get(name) for name in union} for row in rows]
    if not question.include_meta:
        for row in rows:
            for name in META_NAMES:
                row.pop(name, None)
    return rows


def _refined(columns: Columns, question: Question) -> Columns:
    """Return whole-stream columns as `project` would have made them."""
    from expr_tracker.history.columns import Columns  # noqa: PLC0415 - tables only

    if question.metrics is not None:
        names = names_meant(question.metrics, columns.by_name, columns.dicts_of)
        columns.reach({name: ways_to(name, columns.by_name) for name in names})
        if question.dropna:
            marks = [columns.by_name[name].marks for name in names if name in columns.by_name]
            kept = [row for row, cells in enumerate(zip(*marks, strict=True)) if any(cells)]
            columns = columns.taken(kept)
        if question.fill_missing:
            columns.add_missing(names)
        order = [*META_NAMES, *(name for name in names if name not in META_NAMES)]
        columns = columns.selected(order)
    if not question.include_meta:
        chosen = question.metrics or ()
        shown = [n for n in columns.by_name if n not in META_NAMES or n in chosen]
        columns = columns.selected(shown)
    # No row, no column: what rows become that are none.
    return columns if columns.length else Columns()
