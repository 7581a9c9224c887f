"""Tables: rows of plain values, images and figures, stored as strict JSON.

A file ``.table.json`` is ``{"columns": [NAME, ...], "data": [[CELL, ...], ...]}``, with the member
``_nonfinite`` of `expr_tracker.store.lines` where a cell is NaN or infinite. A cell with an image
holds its reference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.errors import NameRefusedError
from expr_tracker.media.content import MEDIA_BYTES_MAX, StoredValue
from expr_tracker.notices import logger
from expr_tracker.row import Row, RowEncoder, key_text
from expr_tracker.store.lines import decode_line, encode_line
from expr_tracker.store.paths import path_given
from expr_tracker.store.regular import read_regular
from expr_tracker.texts import shown

if TYPE_CHECKING:
    import os
    from pathlib import Path

__all__ = ["TABLE_COLUMNS_MAX", "TABLE_ROWS_MAX", "Table", "read_table"]

#: What a person pages through; more is an artifact that a data frame reads.
TABLE_ROWS_MAX: Final = 10_000
#: Wider tables are matrices.
TABLE_COLUMNS_MAX: Final = 1_000

_ENDING: Final = "table.json"


class Table(StoredValue):
    """One table, encoded when it is made.

    Args:
        columns: the names; left out, those of the data.
        data: rows (sequences in the order of ``columns``, or dicts), a dict of columns, or a data
            frame.
        frame: a pandas or polars data frame. A named index of pandas becomes columns.

    Raises:
        ValueError: rows or columns of different lengths, names that repeat, more rows than
            `TABLE_ROWS_MAX` or columns than `TABLE_COLUMNS_MAX`, or more than
            `expr_tracker.media.MEDIA_BYTES_MAX` bytes.
        TypeError: both ``data`` and ``frame``, or something that is no table.
    """

    kind = "table"

    def __init__(
        self, columns: Iterable[Any] | None = None, data: Any = None, *, frame: Any = None
    ) -> None:
        if data is not None and frame is not None:
            raise TypeError("a table takes data or frame, not both.")
        names, rows = _names_and_rows(columns, data if frame is None else frame)
        _check(names, rows)
        self._names = names
        self._media: list[tuple[int, int, StoredValue]] = []
        self._rows = self._encoded(rows)
        self._folder = "media"
        super().__init__(
            self._document(self._folder), _ENDING, {"rows": len(rows), "columns": len(names)}
        )

    def _encoded(self, rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
        warned: set[str] = set()

        def warn(name: str, text: str) -> None:
            if name not in warned:
                warned.add(name)
                logger.warning("table column %r: %s", name, text)

        encoder = RowEncoder(warn)
        encoded: list[list[Any]] = []
        for row_index, row in enumerate(rows):
            cells: list[Any] = []
            for column_index, cell in enumerate(row):
                if isinstance(cell, StoredValue):
                    self._media.append((row_index, column_index, cell))
                    cells.append(None)
                else:
                    cells.append(encoder.value(self._names[column_index], cell))
            encoded.append(cells)
        return encoded

    def _document(self, folder: str) -> bytes:
        for row_index, column_index, cell in self._media:
            self._rows[row_index][column_index] = cell.describe(folder)
        return encode_line({"columns": self._names, "data": self._rows})

    def reference(self, directory: Path) -> Row:
        """Write the table and the images in it below ``directory``, once per content.

        Raises:
            OSError: it could not be written.
        """
        if self._media and directory.name != self._folder:
            # The cells' references name the folder, so the content is another.
            self._folder = directory.name
            self._content = self._document(self._folder)
            self._digest = hashlib.sha256(self._content).hexdigest()
        for _, _, cell in self._media:
            cell.reference(directory)
        return super().reference(directory)


def _names_and_rows(columns: Iterable[Any] | None, data: Any) -> tuple[list[str], list[Any]]:
    if isinstance(columns, str):
        raise TypeError(f"columns={columns!r}: expected a list of names; use [{columns!r}].")
    if columns is not None and (
        not isinstance(columns, Iterable) or isinstance(columns, bytes)  # type: ignore[redundant-expr]
    ):
        raise TypeError(f"columns={shown(columns)}: expected a list of names.")
    names = None if columns is None else [key_text(name) for name in columns]
    if data is None:
        return names or [], []
    if _is_frame(data):
        found, rows = _of_frame(data)
        return _selected(names, found, rows)
    if isinstance(data, Mapping):
        return _selected(names, *_of_columns(data))
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        raise TypeError(
            f"table data {type(data).__name__}: expected rows, a dict of columns or a data frame."
        )
    rows = _taken(data, TABLE_ROWS_MAX)
    if rows and all(isinstance(row, Mapping) for row in rows):
        return _of_records(names, rows)
    if names is None:
        raise ValueError("a table of rows needs columns=[...], the names of its columns.")
    return names, [_taken(row, TABLE_COLUMNS_MAX) if _is_row(row) else row for row in rows]


def _taken(values: Iterable[Any], most: int) -> list[Any]:
    """Return the elements as a list: of an iterator, one more than allowed at most, to be refused."""
    return list(values if type(values) in {list, tuple} else islice(values, most + 1))


def _is_row(row: object) -> bool:
    return isinstance(row, Iterable) and not isinstance(row, (str, bytes, Mapping))


def _is_frame(data: object) -> bool:
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.split(".")[0] in {"pandas", "polars"}


def _of_frame(frame: Any) -> tuple[list[str], list[Any]]:
    if type(frame).__module__.startswith("polars"):
        _check_size(len(frame), len(frame.columns))
        return list(frame.columns), [list(row) for row in frame.iter_rows()]
    _check_size(len(frame), len(frame.columns))
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    names = [key_text(name) for name in frame.columns]
    return names, [list(row) for row in frame.itertuples(index=False, name=None)]


def _of_columns(data: Mapping[Any, Any]) -> tuple[list[str], list[Any]]:
    names = [key_text(name) for name in data]
    for name, column in zip(names, data.values(), strict=True):
        if not _is_row(column):
            raise TypeError(f"table column {name!r} is {shown(column)}: expected a list of cells.")
    columns = [_taken(column, TABLE_ROWS_MAX) for column in data.values()]
    lengths = {name: len(column) for name, column in zip(names, columns, strict=True)}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"table columns of different lengths: {shown(lengths)}.")
    return names, [list(row) for row in zip(*columns, strict=True)]


def _of_records(
    names: list[str] | None, records: list[Mapping[Any, Any]]
) -> tuple[list[str], list[Any]]:
    texts = [{key_text(name): value for name, value in record.items()} for record in records]
    if names is None:
        names = list(dict.fromkeys(name for record in texts for name in record))
    return names, [[record.get(name) for name in names] for record in texts]


def _selected(
    names: list[str] | None, found: list[str], rows: list[Any]
) -> tuple[list[str], list[Any]]:
    if names is None or names == found:
        return found, rows
    missing = [name for name in names if name not in found]
    if missing:
        raise ValueError(f"columns {missing!r} are not in the data; it has {found[:20]!r}.")
    places = [found.index(name) for name in names]
    return names, [[row[place] for place in places] for row in rows]


def _check(names: list[str], rows: list[Any]) -> None:
    _check_size(len(rows), len(names))
    if len(set(names)) != len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"table column {repeated!r} appears twice; give each a name of its own.")
    for index, row in enumerate(rows):
        if not _is_row(row):
            raise ValueError(f"table row {index} is {row!r:.60}: expected a list of cells.")
        if len(row) != len(names):
            raise ValueError(
                f"table row {index} has {len(row)} cells for {len(names)} columns "
                f"({shown(names)})."
            )


def _check_size(row_count: int, column_count: int) -> None:
    if row_count > TABLE_ROWS_MAX:
        raise ValueError(
            f"table of {row_count} rows: the limit is {TABLE_ROWS_MAX}. Log a sample, or keep the "
            "whole with log_artifact."
        )
    if column_count > TABLE_COLUMNS_MAX:
        raise ValueError(
            f"table of {column_count} columns: the limit is {TABLE_COLUMNS_MAX}. Select some, or "
            "keep the whole with log_artifact."
        )


def read_table(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return a stored table as ``{"columns": [...], "data": [[...], ...]}``, NaN restored.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no table, or can be no path (`NameRefusedError`).
    """
    path = path_given(path, "path", NameRefusedError, expected="the path of a table")
    # A little more than the limit: older or foreign files are told apart by their content.
    if path.stat().st_size > 2 * MEDIA_BYTES_MAX:
        raise ValueError(f"{path} has more than {2 * MEDIA_BYTES_MAX} bytes: it is no table.")
    document = decode_line(read_regular(path))
    if document is None or not all(
        isinstance(document.get(name), list) for name in ("columns", "data")
    ):
        raise ValueError(f"{path} is no table: expected an object with 'columns' and 'data'.")
    return {"columns": document["columns"], "data": document["data"]}
