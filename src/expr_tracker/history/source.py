"""The lines of one stream at one moment: its file, what waits for the file, and the open row.

A `Source` turns bytes into metric rows and nothing more. Lines that are damaged cost themselves
only: they are counted (`damage`), and `report` says so in one warning.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from expr_tracker.errors import RunNotFoundError
from expr_tracker.history.damage import Damage
from expr_tracker.interruption import is_from_signal
from expr_tracker.nonfinite import with_nonfinite
from expr_tracker.notices import counted, logger
from expr_tracker.store.files import StreamKey
from expr_tracker.store.index import StreamIndex
from expr_tracker.store.joined import joined_metric_lines, valid_step
from expr_tracker.store.journal import read_journal
from expr_tracker.store.lines import are_steps, decode_line, decoded_lines
from expr_tracker.store.lock import is_locked
from expr_tracker.store.markers import is_marker
from expr_tracker.store.parts import LostPart, lost_parts, lost_parts_text
from expr_tracker.store.reader import LineFile
from expr_tracker.store.seconds import seconds_in, seconds_or_text_in
from expr_tracker.store.sidecar import Sidecar, load_index, missing_rows_text, read_sidecar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from expr_tracker.history.location import Producer
    from expr_tracker.row import Row
    from expr_tracker.store.live import LiveSnapshot

__all__ = ["Source", "beginning_of"]

_decode = msgspec.json.Decoder(type=dict[str, Any]).decode
#: Counting the line ends before a damaged line reads the file in pieces of this size.
_COUNT_BYTES: Final = 1 << 20
_PARTS_SUFFIX: Final = ".jsonl.parts"
#: Most lines are shorter; a longer one takes another look.
_LINE_START_BYTES: Final = 4096


class Source:
    """What can be read of one stream; offsets count the file's bytes, then the waiting lines.

    Attributes:
        index: the zone map; it covers everything up to ``size``.
        open_row: the uncommitted row, or ``None``.
        damage: what was met of it.
        sidecar: what it said before the file was opened.
        was_live: whether the lock of a stream that another process may write was held before the
            file was opened: a writer that ends in between is running still, not lost.
    """

    def __init__(
        self,
        path: Path,
        file: LineFile | None,
        index: StreamIndex,
        *,
        pending: bytes = b"",
        open_row: Row | None = None,
    ) -> None:
        self.path = path
        self.file = file
        self.index = index
        self.open_row = open_row
        self.was_live = False
        self.sidecar = Sidecar()
        self._pending = pending
        self._pending_start = index.size - len(pending)
        self.damage = Damage()
        self._torn_bytes = 0

    @classmethod
    def offline(cls, producer: Producer) -> Source:
        """Open a stream that this process does not write.

        The journal of the open row counts when the writer is gone: the row was logged.

        Raises:
            RunNotFoundError: the file is gone, or is no metrics file.
        """
        files = producer.files
        # Asked before the file is opened as well: a writer that ends in between left no tail torn.
        was_live = is_locked(files.lock)
        # Before the file too: a writer goes on meanwhile, and the sidecar must not know more.
        sidecar = read_sidecar(producer.path)
        try:
            file = LineFile(producer.path)
        except FileNotFoundError as error:
            raise RunNotFoundError(str(error)) from None
        try:
            source = cls(producer.path, file, load_index(file, sidecar))
            source.sidecar = sidecar
            source.was_live = was_live
            is_free = not was_live and not is_locked(files.lock)
            if producer.path == files.metrics and is_free:
                source.open_row = read_journal(files.journal, file.size)
                source._torn_bytes = file.torn_bytes
            _check_metrics_file(source)
        except BaseException:
            file.close()
            raise
        return source

    @classmethod
    def live(cls, path: Path, snapshot: LiveSnapshot) -> Source:
        """Open the stream that this process writes, as of ``snapshot``.

        A file that cannot be opened leaves the rows in memory, with a warning.
        """
        index = snapshot.index
        file: LineFile | None = None
        if index.size:
            try:
                file = LineFile(path)
            except OSError as error:
                if is_from_signal(error):
                    raise
                logger.warning(
                    "History reads only the rows in memory: %s cannot be opened (%s).", path, error
                )
                index = StreamIndex(attempts=[replace(each, offset=0) for each in index.attempts])
        if file is not None and file.size < index.size:
            # Something was taken out of it, and what is left does not lie where it lay.
            index = StreamIndex(parts=index.parts)
            index.scan(file)
        for line in snapshot.pending:
            index.scan_line(line[:-1], len(line))
        pending = b"".join(snapshot.pending) if snapshot.pending else b""
        return cls(path, file, index, pending=pending, open_row=copy.deepcopy(snapshot.open_row))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.file is not None:
            self.file.close()

    @property
    def torn_bytes(self) -> int:
        """The bytes behind the last whole line that nobody is going to complete."""
        return self._torn_bytes

    @property
    def size(self) -> int:
        """Where the last committed line ends."""
        return self.index.size

    @property
    def unreadable(self) -> tuple[int, ...]:
        """The offsets of the lines that were met and are lost, in file order."""
        return self.damage.unreadable(self.read_raw)

    @property
    def foreign(self) -> tuple[int, ...]:
        """The offsets of lines that are JSON but neither rows nor markers, in file order."""
        return tuple(sorted(self.damage.foreign))

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes from ``start`` to ``stop``; whole lines only, if ``start`` begins one."""
        border = self._pending_start
        piece = b""
        if start < border and self.file is not None:
            end = min(stop, border)
            piece = self.file.read(start, end)
            if piece and piece[-1] != 10 and len(piece) < end - start:
                # Cut by someone else meanwhile. Else a line ended here until its end was damaged.
                piece = piece[: piece.rfind(b"\n") + 1]
        if stop > border and self._pending:
            piece += self._pending[max(0, start - border) : stop - border]
        return piece

    def pieces(self, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
        """Yield ``(offset, bytes)`` pieces of whole lines from ``start`` to ``stop``, in order."""
        border = self._pending_start
        if start < border and self.file is not None:
            yield from self.file.chunks(start, min(stop, border))
        if stop > border and self._pending:
            at = max(start, border)
            yield at, self.read(at, stop)

    def rows(self, start: int, stop: int) -> list[Row]:
        """Return the metric rows of the lines from ``start`` to ``stop``, in file order."""
        return self.decode(start, self.read(start, stop))

    def decode(self, offset: int, piece: bytes) -> list[Row]:
        """Return the metric rows in ``piece``, which begins at ``offset``."""
        if not piece:
            return []
        rows = decoded_lines(piece, _decode)
        if rows is None or not are_steps([row.get("_step") for row in rows]):
            return self._decode_singly(offset, piece)
        if b'"_nonfinite"' in piece:
            for row in rows:
                if "_nonfinite" in row:
                    with_nonfinite(row)
        return rows

    def _decode_singly(self, offset: int, piece: bytes) -> list[Row]:
        rows: list[Row] = []
        at = offset
        *lines, rest = piece.split(b"\n")
        for line in lines:
            if line:
                rows += self._decode_one(at, line)
            at += len(line) + 1
        if rest:
            rows += self._decode_one(at, rest[:-1], has_damaged_end=True)
        return rows

    def _decode_one(self, offset: int, line: bytes, *, has_damaged_end: bool = False) -> list[Row]:
        """Return the row of one line; all that stand in it where it was joined from several.

        Args:
            offset: where it begins.
            line: without its end.
            has_damaged_end: whether the byte behind it should be a line end and is none.
        """
        text = line.lstrip(b"\0")
        if len(text) != len(line) and text:
            # Zeros where lines were: what a power loss leaves of a page that was not written.
            self.damage.add_zeros(offset, len(line) - len(text))
        row = decode_line(text)
        joined = [] if row is not None else joined_metric_lines(text)
        if row is None and not joined:
            self.damage.add_unreadable(offset, len(line) + 1)
            return []
        if joined or has_damaged_end:
            self.damage.joined.add(offset)
        rows = []
        for each in joined if row is None else [row]:
            step = valid_step(each)
            if step is not None:
                each["_step"] = step
                rows.append(each)
            elif not is_marker(each):
                self.damage.foreign.add(offset)
        return rows

    def line_start(self, start: int, end: int) -> int | None:
        """Return where the first whole line at or behind ``start`` begins.

        ``None``: no line begins between ``start`` and ``end``.
        """
        if start == 0:
            return 0
        # The byte before the start decides whether a line begins exactly there.
        at = start - 1
        while at < end:
            stop = min(end, at + _LINE_START_BYTES)
            newline = self.read_raw(at, stop).find(b"\n")
            if newline >= 0:
                found = at + newline + 1
                return found if found < end else None
            at = stop
        return None

    def line_number(self, offset: int) -> int:
        """Return the 1-based number of the line that begins at ``offset``."""
        ends = 0
        for start in range(0, offset, _COUNT_BYTES):
            ends += self.read_raw(start, min(start + _COUNT_BYTES, offset)).count(b"\n")
        return ends + 1

    def read_raw(self, start: int, stop: int) -> bytes:
        """Return bytes without regard to lines."""
        border = self._pending_start
        piece = b""
        if start < border and self.file is not None:
            piece = self.file.read(start, min(stop, border))
        if stop > border:
            piece += self._pending[max(0, start - border) : stop - border]
        return piece

    def first_time(self) -> float | None:
        """Return the ``_time`` of the first line, if that is a row with one."""
        for at, piece in self.pieces(0, self.size):
            for row in self.decode(at, piece[: piece.find(b"\n") + 1]):
                return seconds_in(row.get("_time"))
            break
        return None

    def lost(self) -> list[LostPart]:
        """Return the parts of the file that are gone, as far as anything tells of them."""
        parts = self.index.parts
        if (
            self.file is not None
            and self.file.live_start == sum(part.size for part in parts)
            and [part.number for part in parts] == [*range(1, len(parts) + 1)]
        ):
            return []
        return lost_parts(self.path, parts, live_size=self.index.live_size)

    def report_lost(self) -> None:
        """Warn about the parts of the file that are gone, and their rows with them."""
        lost = self.lost()
        if lost:
            logger.warning("%s: rows are lost: %s.", self.path, lost_parts_text(lost))

    def report(self) -> None:
        """Warn once about whatever was skipped since the source was opened, or is lost."""
        found = []
        lost = self.lost()
        if lost:
            found.append(f"rows are lost: {lost_parts_text(lost)}")
        missing = self.index.missing_rows
        if missing:
            found.append(missing_rows_text(missing))
        found += self.damage.sentences(self.read_raw, self.line_number)
        if self._torn_bytes:
            found.append(f"a torn last line of {counted(self._torn_bytes, 'byte')} was left out")
        if found:
            logger.warning("%s: %s.", self.path, "; ".join(found))


def beginning_of(identity: Row) -> float | None:
    """Return when a run was made (Unix seconds), from its ``run.json``."""
    return seconds_or_text_in(identity.get("created"))


def _check_metrics_file(source: Source) -> None:
    """Refuse a file that is no metrics file by its name nor by anything in it."""
    path, file, index = source.path, source.file, source.index
    if StreamKey.from_file(path.name) is not None or path.parent.name.endswith(_PARTS_SUFFIX):
        return  # damage in it is for its reader to see
    if path.suffix == ".jsonl" and (file is None or file.size + file.torn_bytes == 0):
        return
    if index.rows == 0 and len(index.attempts) == 1 and index.attempts[0].status is None:
        raise RunNotFoundError(
            f"{path} is not a metrics file: it has no row. Pass a run's directory, or one of its "
            "files metrics*.jsonl."
        )
