"""Whole-run tables of plain files, parsed by polars: four times as quick as our own loop.

A file is *plain* when every line is a row of the same metrics, all of them numbers, one row per
step, in order. polars may parse such a file only where that is proven, for it ignores a member that
its schema lacks and knows nothing of patches, attempts or non-finite numbers:

- the schema is ours, and polars refuses a value of another type instead of bending it;
- no column has a null, so every line has every column;
- the bytes hold exactly two quotes for each of those names, so no line has anything else: no other
  member (``_nonfinite`` and markers included), no text;
- steps increase strictly, so there is nothing to merge;
- no whole number is rounded: a long one among floats has its exact value aside (`frames`).

Where one of these does not hold, the answer is ``None`` and the long way is taken. Its float parser
is correctly rounded (a property test compares it with ours).
"""

from __future__ import annotations

import io
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.history.columns import FLOAT_EXACT_MAX
from expr_tracker.history.question import Question, select_names
from expr_tracker.row import META_NAMES, Row
from expr_tracker.store.lines import decode_line, is_metric_row

if TYPE_CHECKING:
    import polars as pl

    from expr_tracker.history.source import Source
    from expr_tracker.store.reader import LineFile

__all__ = ["plain_table"]

#: Below this our own loop is done before polars is imported (about 60 ms).
PLAIN_BYTES_MIN: Final = 4 << 20
#: Lines at either end that are decoded to tell whole numbers from floats.
_SAMPLE_LINES: Final = 256
#: Whole numbers below are floats; a longer one, as the file spells it.
_LONG_WHOLE: Final = re.compile(rb":[ \t]*-?[0-9]{16,}[ \t]*[,}]")


def plain_table(source: Source, question: Question) -> Any:
    """Return the table of a whole plain stream, or ``None`` where the stream is not plain."""
    frame = _plain_frame(source, question)
    if frame is None:
        return None
    if question.output == "polars":
        return frame
    if question.output == "arrow":
        from expr_tracker.history.frames import import_arrow  # noqa: PLC0415 - with pyarrow only

        import_arrow()
        return frame.to_arrow()
    import pandas as pd  # noqa: PLC0415 - optional, and slow to import

    return pd.DataFrame({name: frame[name].to_numpy() for name in frame.columns})


def _plain_frame(source: Source, question: Question) -> pl.DataFrame | None:  # noqa: PLR0911 - one a proof
    index, file = source.index, source.file
    if (
        file is None
        or file.size < PLAIN_BYTES_MIN
        or index.size != file.size  # lines that wait for the file
        or source.open_row is not None
        or len(index.attempts) > 1
        or index.has_repeats
        or not index.is_sorted
        or index.unreadable
    ):
        return None
    try:
        import polars as pl  # noqa: PLC0415 - optional, and slow to import
    except ImportError:
        return None
    end = _end_of_rows(file)
    schema = _schema(file, end)
    if schema is None:
        return None
    data = file.read(0, end)
    if data.count(b'"') != 2 * len(schema) * index.rows:
        return None
    types = {name: pl.Float64 if is_float else pl.Int64 for name, is_float in schema.items()}
    try:
        frame = pl.read_ndjson(io.BytesIO(data), schema=types)
    except pl.exceptions.PolarsError:
        return None
    steps = frame["_step"]
    if (
        frame.height != index.rows
        or any(column.null_count() for column in frame.get_columns())
        or not bool((steps.diff().drop_nulls() > 0).all())
        or _rounds(frame, data)
    ):
        return None
    return _selected(frame, question)


def _rounds(frame: pl.DataFrame, data: bytes) -> bool:
    """Say whether a column of floats may have taken in a whole number that is none."""
    for column in frame.get_columns():
        if column.dtype.is_float():
            highest: Any = column.abs().max()
            if highest is not None and highest >= FLOAT_EXACT_MAX:
                return _LONG_WHOLE.search(data) is not None
    return False


def _end_of_rows(file: LineFile) -> int:
    """Return where the last metric row ends: an ended attempt's marker stands behind it."""
    for at, line in islice(file.lines_backward(), _SAMPLE_LINES):
        row = decode_line(line)
        if row is not None and is_metric_row(row):
            return at + len(line) + 1
    return 0


def _schema(file: LineFile, end: int) -> dict[str, bool] | None:
    """Return the columns and whether they hold floats; ``None`` where the ends are not plain."""
    sample = list(islice(file.lines(0, end), _SAMPLE_LINES))
    sample += [line for _, line in islice(file.lines_backward(end), _SAMPLE_LINES)]
    schema: dict[str, bool] = {}
    names: list[str] | None = None
    for line in sample:
        row = decode_line(line)
        if row is None:
            return None
        if names is None:
            names = _ordered(row)
            schema = dict.fromkeys(names, False)
        if row.keys() != schema.keys():
            return None
        for name, value in row.items():
            if type(value) is float:
                schema[name] = True
            elif type(value) is not int:
                return None
    if names is None or schema.get("_step", True) or not schema.get("_time", False):
        return None
    # A name with a quote or an escape in it would be counted with more than two.
    return None if any('"' in name or "\\" in name for name in names) else schema


def _ordered(row: Row) -> list[str]:
    return [
        *(name for name in META_NAMES if name in row),
        *(n for n in row if n not in META_NAMES),
    ]


def _selected(frame: pl.DataFrame, question: Question) -> pl.DataFrame | None:
    """Return the question's columns; ``None`` where it asks for one that is not there."""
    names = [name for name in frame.columns if name not in META_NAMES]
    if question.metrics is not None:
        names = select_names(question.metrics, frame.columns)
        if not names or any(name not in frame.columns or name in META_NAMES for name in names):
            return None
    lead = list(META_NAMES) if question.include_meta else []
    return frame.select([*lead, *names])
