"""Columns as a table of pandas, polars or Arrow. It never fails for what a column holds, nor loses any.

- Numbers stay numbers. What a column of numbers cannot hold (texts, lists, whole numbers that a
  float would round) is null in it, or the nearest float, and stands as JSON text in the same row of
  a second column behind it, ``NAME#json``; one warning names the two.
- Whole numbers beyond 64 bits make their column floats; whole numbers beside floats become floats,
  truth values beside numbers 0 and 1.
- A column of texts is text. A column with lists or dicts and no number holds Python objects in
  pandas; in polars and Arrow every cell of it is JSON text, texts among them included.
- JSON text is strict JSON (RFC 8259), which every parser reads. It has no word for a non-finite number:
  within such a text that is a text itself, ``"NaN"``, ``"Infinity"`` or ``"-Infinity"``, as the file's
  ``_nonfinite`` says it. As a cell of a column of numbers it is the float.
- polars and Arrow tell a missing value (null) from NaN. pandas has NaN for both in a float
  column; whole numbers and truth values with gaps get its nullable types (``Int64``, ``boolean``).
"""

from __future__ import annotations

import json
import math
from array import array
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET

from expr_tracker.errors import MissingExtraError
from expr_tracker.extras import install_command
from expr_tracker.history.columns import BOOL, Column, Columns, Kind, side_names
from expr_tracker.interruption import is_from_signal
from expr_tracker.notices import logger
from expr_tracker.surrogates import storable_text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from expr_tracker.history.question import Output

__all__ = ["arrow_array", "frame_of", "import_arrow", "json_text"]

#: A query in a training loop must not repeat its warning; nor may what was said fill the memory.
_SAID_MAX: Final = 10_000
_said: set[tuple[str, str]] = set()


def frame_of(columns: Columns, output: Output, label: str) -> Any:
    """Return the columns as a table.

    Args:
        columns: the table's contents.
        output: ``"pandas"``, ``"polars"`` or ``"arrow"``.
        label: what the warnings call the source.

    Raises:
        MissingExtraError: the library is not installed.
    """
    columns = _with_sides(columns, label)
    if output == "pandas":
        return _pandas(columns)
    if output == "polars":
        return _polars(columns)
    return _arrow(columns)


def _with_sides(columns: Columns, label: str) -> Columns:
    """Return the table with a second column behind each that has something aside."""
    columns.finish()
    asides = {name: column.aside() for name, column in columns.by_name.items()}
    if not any(asides.values()):
        return columns
    seconds = side_names((name for name, aside in asides.items() if aside), columns.by_name)
    table = Columns()
    table.length = columns.length
    for name, column in columns.by_name.items():
        table.by_name[name] = column
        aside = asides[name]
        if not aside:
            continue
        second = seconds[name]
        side = table.by_name[second] = Column(columns.length)
        for row, value in aside.items():
            side.put(row, json_text(value))
        if _is_first(label, name):
            logger.warning(
                "%s: the column %r keeps its numbers; %s as JSON in the column %r.",
                label,
                name,
                "1 other value stands" if len(aside) == 1 else f"{len(aside)} other values stand",
                second,
            )
    return table


def _is_first(label: str, name: str) -> bool:
    """Say whether the process has not warned of this column of this file before."""
    key = (label, name)
    if key in _said or len(_said) >= _SAID_MAX:
        return False
    _said.add(key)
    return True


def json_text(value: Any) -> str:
    """Return a value as strict JSON; a non-finite number is the text that names it, ``"NaN"``."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        if is_from_signal(error):
            raise
        text = json.dumps(_with_words(value), ensure_ascii=False, allow_nan=False)
    return storable_text(text)


def _with_words(value: Any) -> Any:
    """Return a value with a word of the file format in place of each non-finite number."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {name: _with_words(member) for name, member in value.items()}
    return [_with_words(member) for member in value] if isinstance(value, list) else value


def _texts(column: Column, kind: Kind) -> list[str | None]:
    texts: list[str | None] = [None] * len(column.marks)
    convert = storable_text if kind == "text" else json_text
    for row, value in column.others.items():
        texts[row] = convert(value)
    return texts


def _numbers(column: Column, kind: Kind) -> array[Any]:
    return column.floats() if kind == "float" else column.whole_numbers()


def _has_gaps(column: Column) -> bool:
    return min(column.marks, default=BOOL) < BOOL


def _polars(columns: Columns) -> pl.DataFrame:
    try:
        import polars as pl  # noqa: PLC0415 - optional, and slow to import
    except ImportError:
        raise _missing("polars", "polars") from None
    series = {}
    for name, column in columns.by_name.items():
        kind = column.kind()
        shown = storable_text(name)
        if kind == "null":
            series[shown] = pl.Series(shown, [None] * columns.length, dtype=pl.Null)
        elif kind in ("text", "nested"):
            series[shown] = pl.Series(shown, _texts(column, kind), dtype=pl.String)
        else:
            values = pl.Series(shown, _numbers(column, kind))
            if kind == "bool":
                values = values.cast(pl.Boolean)
            if _has_gaps(column):
                marks = pl.Series("", array("B", column.marks))
                pair = pl.DataFrame([values.alias("values"), (marks >= BOOL).alias("is_set")])
                chosen = pl.when(pl.col("is_set")).then(pl.col("values"))
                values = pair.select(chosen.alias(shown)).to_series()
            series[shown] = values
    # By name: of a list polars would rename the column whose name is empty.
    return pl.DataFrame(series)


def import_arrow(what: str = "output_type='arrow'") -> Any:
    """Return the module ``pyarrow``.

    Args:
        what: what needs it, for the message.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - optional, and slow to import
        import pyarrow.compute  # noqa: PLC0415
    except ImportError:
        raise _missing("pyarrow", "arrow", what) from None
    return pa


def _arrow(columns: Columns) -> Any:
    pyarrow = import_arrow()
    names, arrays = [], []
    for name, column in columns.by_name.items():
        kind = column.kind()
        names.append(storable_text(name))
        if kind in ("text", "nested"):
            arrays.append(pyarrow.array(_texts(column, kind), pyarrow.string()))
        else:
            arrays.append(arrow_array(pyarrow, column, kind))
    return pyarrow.Table.from_arrays(arrays, names=names)


def arrow_array(pyarrow: Any, column: Column, kind: Kind) -> Any:
    """Return the numbers of a column as an Arrow array of the kind; null where there is none."""
    length = len(column.marks)
    if kind == "null":
        return pyarrow.nulls(length)
    stored = pyarrow.float64() if kind == "float" else pyarrow.int64()
    buffer = pyarrow.py_buffer(_numbers(column, kind))
    values = pyarrow.Array.from_buffers(stored, length, [None, buffer])
    if kind == "bool":
        values = values.cast(pyarrow.bool_())
    if _has_gaps(column):
        marks = pyarrow.Array.from_buffers(
            pyarrow.uint8(), length, [None, pyarrow.py_buffer(bytes(column.marks))]
        )
        is_set = pyarrow.compute.greater_equal(marks, pyarrow.scalar(BOOL, pyarrow.uint8()))
        values = pyarrow.compute.if_else(is_set, values, pyarrow.scalar(None, values.type))
    return values


def _pandas(columns: Columns) -> pd.DataFrame:
    try:
        import numpy as np  # noqa: PLC0415 - optional, and slow to import
        import pandas as pd  # noqa: PLC0415
    except ImportError:
        raise _missing("pandas", "pandas") from None
    frame: dict[str, Any] = {}
    for name, column in columns.by_name.items():
        kind = column.kind()
        if kind in ("text", "nested", "null"):
            cells = [None if cell is UNSET else cell for cell in column.cells()]
            if kind == "text":
                frame[name] = pd.Series([cell and storable_text(cell) for cell in cells])
            else:
                series = pd.Series([None] * len(cells), dtype=object)
                if kind == "nested":
                    for row, value in column.others.items():
                        series.iat[row] = value  # noqa: PD009 - .iloc unpacks a list
                frame[name] = series
            continue
        values = np.frombuffer(_numbers(column, kind), dtype="f8" if kind == "float" else "i8")
        gaps = np.frombuffer(bytes(column.marks), dtype=np.uint8) < BOOL
        frame[name] = _pandas_numbers(values, gaps, kind)
    if not frame:
        return pd.DataFrame(index=pd.RangeIndex(columns.length)) if columns.length else (
            pd.DataFrame()
        )  # fmt: skip
    return pd.DataFrame(frame)


def _pandas_numbers(values: Any, gaps: Any, kind: Kind) -> Any:
    import numpy as np  # noqa: PLC0415 - optional, and slow to import
    import pandas as pd  # noqa: PLC0415

    has_gaps = bool(gaps.any())
    if kind == "float":
        return np.where(gaps, np.nan, values) if has_gaps else values
    if kind == "bool":
        truths = values.astype(bool)
        return pd.arrays.BooleanArray(truths, gaps) if has_gaps else truths
    return pd.arrays.IntegerArray(values.copy(), gaps) if has_gaps else values


def _missing(package: str, extra: str, what: str | None = None) -> MissingExtraError:
    needed_by = f"output_type={extra!r}" if what is None else what
    return MissingExtraError(f"{needed_by} needs {package}: {install_command(extra)}")
