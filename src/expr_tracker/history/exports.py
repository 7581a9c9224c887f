"""`export`: what was logged, in a file that other programs read; in bounded memory.

One line per step and stream, merged as the default reading is; of one attempt, or one per attempt
and step, where that is asked for. Nothing is lost on the way:

- parquet, arrow: numbers are numbers, non-finite ones too; null is both missing and ``None``. A
  column of texts is text, one of lists or dicts JSON text. What a numeric column cannot hold
  (texts, lists, whole numbers beyond 64 bits, or among floats beyond their 53) stands as JSON text
  in a column ``NAME#json`` (``NAME#json#json`` where a metric has that name). JSON text is strict,
  as `frames` has it.
- csv: RFC 4180; numbers with every digit, ``NaN``, ``inf`` and ``-inf``, ``true`` and ``false``,
  lists and dicts as JSON text, an empty field for missing and ``None``; ``_time`` in Unix seconds.
- jsonl: strict JSON as in the metrics file, ``_nonfinite`` included.
"""

from __future__ import annotations

import csv
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from expr_tracker.errors import QueryError
from expr_tracker.history.columns import BOOL, FLOAT, INT, OTHER, Column, Columns, side_names
from expr_tracker.history.frames import arrow_array, import_arrow, json_text
from expr_tracker.history.location import producers_of
from expr_tracker.history.progress import checked_report
from expr_tracker.history.question import ask
from expr_tracker.history.retrieval import rows_by_step
from expr_tracker.history.source import Source
from expr_tracker.history.view import View
from expr_tracker.row import META_NAMES, Row
from expr_tracker.store.bounds import is_own_file
from expr_tracker.store.lines import encode_line
from expr_tracker.store.output import output_place, writing_to
from expr_tracker.surrogates import storable_text
from expr_tracker.texts import shown

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from expr_tracker.store.files import StreamKey

__all__ = ["ExportReport", "Format", "csv_cell", "export"]

Format = Literal["parquet", "csv", "jsonl", "arrow"]

_ENDINGS: Final[dict[str, Format]] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".arrow": "arrow",
    ".feather": "arrow",
}


@dataclass(frozen=True)
class ExportReport:
    """What was written."""

    path: Path
    rows: int
    streams: tuple[str, ...]


def export(  # noqa: PLR0913 - the keywords of `history` that choose rows
    run: str | os.PathLike[str],
    output: str | os.PathLike[str],
    format: Format | None = None,  # noqa: A002 - the word that users look for
    *,
    stream: Any = "*",
    rank: Any = None,
    attempt: int | Literal["all"] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> ExportReport:
    """Write what a run has logged to a file.

    Args:
        run: the run's directory or a metrics file.
        output: the file; it is replaced whole, when everything is written. A link stays, and what
            it leads to is replaced; a device or FIFO is written into.
        format: ``"parquet"``, ``"csv"``, ``"jsonl"`` or ``"arrow"``; by default what the ending
            of ``output`` says.
        stream: ``"*"`` is every stream; ``None`` the default producer; a name; a list of names.
            Several streams are told apart by the columns ``_stream`` and ``_rank``.
        rank: as for `read_history`.
        attempt: as for `read_history`: ``None`` is the default reading, a number that attempt
            alone, ``"all"`` every one beside the others, told apart by the column ``_attempt``.
        progress: called with the rows done and the rows to do.

    Raises:
        RunNotFoundError: no such run, stream or rank.
        QueryError: an unknown format, an output that can be no path or would overwrite the run
            itself, or an attempt that a stream does not have.
        MissingExtraError: pyarrow is needed and not installed.
        OSError: the output cannot be written; what stood there stays.
    """
    target = output_place(output)
    kind = _format_of(Path(output), format)
    attempt = ask(attempt=attempt).attempt
    producers = producers_of(run, stream, rank)
    if is_own_file(target, Path(run)):
        raise QueryError(f"output={output}: that is the name of a run's own file; choose another.")
    is_single = Path(run).is_file() or (stream != "*" and isinstance(stream, (str, type(None))))
    with ExitStack() as stack:
        sources = [
            (producer.key, stack.enter_context(Source.offline(producer))) for producer in producers
        ]
        reading = _Reading(
            [
                (key if not is_single or rank == "*" else None, source, views)
                for key, source in sources
                for views in [_views(key, source, attempt)]
            ],
            progress=checked_report(progress),
        )
        with writing_to(target) as temporary:
            rows = _WRITERS[kind](reading, temporary)
        for _, source in sources:
            source.report()
    return ExportReport(Path(output), rows, tuple(key.label for key, _ in sources))


def _views(
    key: StreamKey, source: Source, attempt: int | Literal["all"] | None
) -> dict[int | None, View]:
    """Return the views that are read one after the other, by the attempt that rows are marked with."""
    attempts = source.index.attempts
    if attempt == "all":
        return {number: View(attempts, number) for number in sorted({a.number for a in attempts})}
    try:
        return {None: View(attempts, attempt)}
    except QueryError as error:
        raise QueryError(f"{key.label}: {error}") from None


def _format_of(target: Path, given: object) -> Format:
    if given is None:
        found = _ENDINGS.get(target.suffix.lower())
        if found is None:
            raise QueryError(
                f"output={shown(str(target))}: its ending names no format. End it with "
                f"{', '.join(_ENDINGS)}, or pass format=."
            )
        return found
    for known in get_args(Format):
        if isinstance(given, str) and given == known:
            return known  # type: ignore[no-any-return]
    raise QueryError(f"format={shown(given)}: expected {', '.join(map(repr, get_args(Format)))}.")


class _Reading:
    """The rows to export, to be read once or twice.

    Args:
        sources: each with the producer that its rows are marked with, if they are, and its views.
        progress: called with the rows done and the rows to do.
    """

    def __init__(
        self,
        sources: list[tuple[StreamKey | None, Source, dict[int | None, View]]],
        *,
        progress: Callable[[int, int], object] | None,
    ) -> None:
        self._sources = sources
        self._progress = progress
        self._done = 0
        self.passes = 1

    def batches(self) -> Iterator[list[Row]]:
        """Yield all rows, stream after stream and attempt after attempt, ascending by step."""
        total = self.passes * sum(source.index.rows for _, source, _ in self._sources)
        for key, source, views in self._sources:
            for attempt, view in views.items():
                origin: Row = {} if key is None else {"_stream": key.stream, "_rank": key.rank}
                if attempt is not None:
                    origin["_attempt"] = attempt
                for batch in rows_by_step(source, view):
                    self._done += len(batch)
                    yield [_labelled(origin, row) for row in batch] if origin else batch
                    if self._progress is not None:
                        self._progress(min(self._done, total), total)


def _labelled(origin: Row, row: Row) -> Row:
    meta: Row = {name: row[name] for name in META_NAMES if name in row}
    labelled = {**meta, **origin, **row}
    if "_attempt" in origin:
        labelled["_attempt"] = origin["_attempt"]
    return labelled


def _write_jsonl(reading: _Reading, path: Path) -> int:
    rows = 0
    with path.open("wb") as file:
        for batch in reading.batches():
            file.write(b"".join(map(encode_line, batch)))
            rows += len(batch)
    return rows


def _write_csv(reading: _Reading, path: Path) -> int:
    reading.passes = 2
    names: dict[str, None] = {"_step": None, "_time": None}
    for batch in reading.batches():
        for row in batch:
            names.update(dict.fromkeys(row))
    rows = 0
    # Half a surrogate pair, which UTF-8 cannot hold, is written as its escape.
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for batch in reading.batches():
            writer.writerows([csv_cell(row.get(name)) for name in names] for row in batch)
            rows += len(batch)
    return rows


def csv_cell(value: Any) -> str:
    """Return a value as the text of a CSV field."""
    if isinstance(value, float):
        return repr(value) if value == value else "NaN"  # noqa: PLR0124 - the quickest test
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else json_text(value)


@dataclass
class _Shape:
    """What a column holds over the whole export."""

    marks: set[int]
    has_inexact: bool = False
    """Whether it has whole numbers that a float may not hold exactly."""
    is_text: bool = True

    def take(self, column: Column) -> None:
        column.set_apart_beyond()
        self.marks |= set(column.marks)
        self.has_inexact = self.has_inexact or bool(column.wide) or column.is_beyond_floats()
        self.is_text = self.is_text and all(isinstance(v, str) for v in column.others.values())

    @property
    def number(self) -> Literal["float", "int", "bool"] | None:
        """Which numbers it has, if any."""
        if FLOAT in self.marks:
            return "float"
        if INT in self.marks:
            return "int"
        return "bool" if BOOL in self.marks else None

    @property
    def has_side(self) -> bool:
        """Whether a numeric column needs a second one for the rest."""
        is_inexact = self.number == "float" and self.has_inexact
        return self.number is not None and (OTHER in self.marks or is_inexact)


def _shapes(reading: _Reading) -> dict[str, _Shape]:
    shapes = {"_step": _Shape({INT}), "_time": _Shape({FLOAT})}
    for batch in reading.batches():
        columns = Columns.from_rows(batch)
        columns.finish()
        for name, column in columns.by_name.items():
            shapes.setdefault(name, _Shape(set())).take(column)
    return shapes


def _write_arrow_like(
    reading: _Reading, path: Path, open_writer: Callable[..., Any], *, what: str
) -> int:
    pyarrow = import_arrow(what)
    reading.passes = 2
    shapes = _shapes(reading)
    seconds = side_names((name for name, shape in shapes.items() if shape.has_side), shapes)
    fields = []
    for name, shape in shapes.items():
        types = {"float": pyarrow.float64(), "int": pyarrow.int64(), "bool": pyarrow.bool_()}
        number = shape.number
        text = pyarrow.null() if OTHER not in shape.marks else pyarrow.string()
        shown = storable_text(name)
        is_json = number is None and OTHER in shape.marks and not shape.is_text
        metadata = {"encoding": "json"} if is_json else None
        fields.append(pyarrow.field(shown, types[number] if number else text, metadata=metadata))
        if shape.has_side:
            second = storable_text(seconds[name])
            side = pyarrow.field(second, pyarrow.string(), metadata={"encoding": "json"})
            fields.append(side)
    schema = pyarrow.schema(fields)
    rows = 0
    with path.open("wb") as file, open_writer(pyarrow, file, schema) as writer:
        for batch in reading.batches():
            arrays = _arrays(pyarrow, Columns.from_rows(batch), shapes)
            writer.write_batch(pyarrow.RecordBatch.from_arrays(arrays, schema=schema))
            rows += len(batch)
    return rows


def _arrays(pyarrow: Any, columns: Columns, shapes: dict[str, _Shape]) -> list[Any]:
    columns.finish()
    arrays = []
    for name, shape in shapes.items():
        column = columns.by_name.get(name) or Column(columns.length)
        column.set_apart_beyond()
        number = shape.number
        if number is not None:
            arrays.append(arrow_array(pyarrow, column, number))
            if shape.has_side:
                arrays.append(_side(pyarrow, column, number))
        elif OTHER in shape.marks:
            texts: list[str | None] = [None] * columns.length
            for row, value in column.others.items():
                texts[row] = storable_text(value) if shape.is_text else json_text(value)
            arrays.append(pyarrow.array(texts, pyarrow.string()))
        else:
            arrays.append(pyarrow.nulls(columns.length))
    return arrays


def _side(pyarrow: Any, column: Column, number: str) -> Any:
    texts: list[str | None] = [None] * len(column.marks)
    for row, value in column.others.items():
        texts[row] = json_text(value)
    if number == "float":
        for row, whole in column.wide.items():
            texts[row] = str(whole)
    return pyarrow.array(texts, pyarrow.string())


def _write_parquet(reading: _Reading, path: Path) -> int:
    def writer(_: Any, file: Any, schema: Any) -> Any:
        from pyarrow import parquet  # noqa: PLC0415 - optional, and slow to import

        return parquet.ParquetWriter(file, schema)

    return _write_arrow_like(reading, path, writer, what="Parquet")


def _write_arrow(reading: _Reading, path: Path) -> int:
    def writer(pyarrow: Any, file: Any, schema: Any) -> Any:
        return pyarrow.ipc.new_file(file, schema)

    return _write_arrow_like(reading, path, writer, what="Arrow")


_WRITERS: Final[dict[Format, Callable[[_Reading, Path], int]]] = {
    "parquet": _write_parquet,
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "arrow": _write_arrow,
}
