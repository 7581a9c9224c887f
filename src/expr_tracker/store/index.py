"""Where steps lie in a metrics file: a zone map, kept in memory by the writer and in a sidecar.

The file is divided into blocks of about a thousand lines; of each block the index knows its lowest
and highest step. A query by step reads only the blocks whose zone meets its range, so one repeated
or late step costs one more block, not the whole file. The sidecar is a hint: it names the size it
covers and a checksum of the bytes before it, a reader adds what was appended since, and a missing
or wrong one is made again from the file (`StreamIndex.scan`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET

from expr_tracker.row import STEP_MAX, STEP_MIN
from expr_tracker.store.joined import joined_metric_lines, valid_step
from expr_tracker.store.lines import (
    are_steps,
    decode_line,
    decoded_lines,
    is_safe_to_skip,
)
from expr_tracker.store.markers import REWOUND, Beginning, End, read_marker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from expr_tracker.row import Row
    from expr_tracker.store.parts import Part
    from expr_tracker.store.reader import LineFile

__all__ = ["Attempt", "Block", "StreamIndex", "Zone"]

#: Lines of one block: a block of five metrics is about 150 kB, read and decoded in a millisecond.
BLOCK_LINES: Final = 1024
#: Beyond this many blocks, neighbours are joined: they take 160 kB of the sidecar with steps of seven
#: digits, 260 kB with any. Attempts come on top without a limit, up to 80 bytes each.
BLOCKS_MAX: Final = 4096
#: The zone of no step at all: the first one widens it.
_NO_STEP_LOW, _NO_STEP_HIGH = STEP_MAX, STEP_MIN
#: Of a block: lowest step, first line, offset, highest step.
Zone = tuple[int, int, int, int]


class _Stepped(msgspec.Struct, gc=False, rename={"step": "_step"}):
    """A line of which only the step is wanted."""

    step: Any = UNSET


_decode_stepped = msgspec.json.Decoder(_Stepped).decode


@dataclass(frozen=True)
class Attempt:
    """One go at a stream: from its marker line to the next one.

    Frozen, so that copies of an index share them: with thousands of rewinds a copy of each would
    hold up ``log`` for milliseconds.
    """

    number: int = 1
    """1 for the first."""
    from_step: int | None = None
    """Rows of earlier attempts at this step and above are superseded; ``None``: nothing is."""
    offset: int = 0
    """Where its lines begin, in bytes."""
    time: float | None = None
    """When it began (Unix seconds); the first attempt begins with its first row."""
    pid: int | None = None
    """The process that wrote it."""
    status: str | None = None
    """How it ended; ``None`` while it runs, or when its process was lost."""
    end_time: float | None = None
    """When it ended (Unix seconds)."""
    clock_back: float | None = None
    """By how many seconds its clock was behind the newest time before it, beyond an hour."""

    @property
    def is_final(self) -> bool:
        """Whether it ended with its process: who rewinds goes on, or was lost on the way."""
        return self.status is not None and self.status != REWOUND


@dataclass(frozen=True)
class Block:
    """A run of neighbouring lines and the zone of their steps."""

    start: int
    """Offset of its first line."""
    stop: int
    """Offset behind its last line."""
    low: int
    high: int
    """Its lowest and its highest step; ``low > high`` where it holds no metric row."""


@dataclass
class StreamIndex:
    """The zone map of one metrics file."""

    size: int = 0
    """Bytes covered."""
    lines: int = 0
    """Lines covered: rows, markers and unreadable ones."""
    rows: int = 0
    """Metric rows covered."""
    last_step: int | None = None
    """The step of the newest row, in file order."""
    max_step: int | None = None
    """The highest step."""
    attempt_max_step: int | None = None
    """The highest step of the newest attempt, for the next step; carries over without a marker's
    ``_from_step``."""
    last_time: float | None = None
    """``_time`` of the newest row, where it is known."""
    is_sorted: bool = True
    """Whether steps never run backwards in file order."""
    has_repeats: bool = False
    """Whether a step may have more than one line."""
    unreadable: int = 0
    """Lines that hold no JSON object."""
    attempts: list[Attempt] = field(default_factory=lambda: [Attempt()])
    parts: list[Part] = field(default_factory=list)
    """The set-aside parts, those that are gone included."""
    live_size: int = 0
    """Bytes of the live file that the sidecar covered."""
    checkpoints: list[tuple[int, int]] = field(default_factory=list, compare=False)
    """Offsets, and the CRC-32 of all bytes before each, as they were written."""
    missing_rows: int = field(default=0, compare=False)
    """Rows that were in the file once and are no longer, beside those of lost parts."""
    changed_lines: tuple[int, int] | None = field(default=None, compare=False)
    """The first and the last of lines (1-based, as they were then) among which bytes had changed when
    the file was rewritten."""
    block_lines: int = BLOCK_LINES
    """Lines of one block; doubled when neighbours are joined."""
    _blocks: list[Zone] = field(default_factory=list)
    # Of every closed block. One list of tuples, so that an exception from a signal handler cannot
    # leave columns of different lengths.
    _low: int = _NO_STEP_LOW
    _high: int = _NO_STEP_HIGH
    _block_start: int = 0
    _block_first: int = 0

    def note_row(self, step: int, size: int) -> None:
        """Take in one appended metric row of ``size`` bytes, its line end included.

        Between its entry and `_close_block` no function is called, so an exception from a signal
        handler falls before all of it or behind all of it; ``size`` tells which.
        """
        last = self.max_step
        if last is None or step > last:
            self.max_step = step
        else:
            self.has_repeats = True
            if self.last_step is not None and step < self.last_step:
                self.is_sorted = False
        highest = self.attempt_max_step
        if highest is None or step > highest:
            self.attempt_max_step = step
        self.last_step = step
        if step < self._low:  # noqa: PLR1730 - min() would be a call
            self._low = step
        if step > self._high:  # noqa: PLR1730 - as above
            self._high = step
        self.rows += 1
        self.size += size
        self.lines += 1
        if self.lines - self._block_first >= self.block_lines:
            self._close_block()

    def note_line(self, size: int) -> None:
        """Take in one appended line of ``size`` bytes that says nothing about steps or attempts."""
        self.size += size
        self.lines += 1
        if self.lines - self._block_first >= self.block_lines:
            self._close_block()

    def note_marker(self, marker: Row, size: int) -> None:
        """Take in one appended line that is no metric row."""
        self._take_marker(marker, self.size)
        self.note_line(size)

    def note(self, size: int, step: int | None, marker: Row | None) -> None:
        """Take in one appended line: a row if it has a ``step``, else what ``marker`` says."""
        if step is not None:
            self.note_row(step, size)
        elif marker is not None:
            self.note_marker(marker, size)
        else:
            self.note_line(size)

    def _take_marker(self, marker: Row, offset: int) -> None:
        said = read_marker(marker)
        if isinstance(said, Beginning):
            begun = Attempt(
                said.number,
                said.from_step,
                offset,
                said.time,
                said.pid,
                clock_back=said.clock_back,
            )
            if self.attempts[-1] != begun:  # else noted again: an exception came before its size
                self.attempts.append(begun)
            if said.from_step is not None:
                self.attempt_max_step = said.from_step - 1
                self.has_repeats = True
        elif isinstance(said, End):
            # By its number: after an exception it may be written again behind the next beginning.
            for i in range(len(self.attempts) - 1, -1, -1):
                attempt = self.attempts[i]
                # A higher number than any: its beginning was in a part that is lost.
                if attempt.number <= said.number:
                    self.attempts[i] = replace(attempt, status=said.status, end_time=said.time)
                    break

    def _close_block(self) -> None:
        # Interrupted behind the append, the block is closed again later: the second one covers
        # the first, whose extent is then empty.
        self._blocks.append((self._low, self._block_first, self._block_start, self._high))
        self._low, self._high = _NO_STEP_LOW, _NO_STEP_HIGH
        self._block_start, self._block_first = self.size, self.lines
        if len(self._blocks) > BLOCKS_MAX:
            self._join_neighbours()

    def _join_neighbours(self) -> None:
        blocks = self._blocks
        joined = []
        for i in range(0, len(blocks), 2):
            pair = blocks[i : i + 2]
            low, high = min(block[0] for block in pair), max(block[3] for block in pair)
            joined.append((low, pair[0][1], pair[0][2], high))
        self._blocks = joined
        self.block_lines *= 2

    def copy(self) -> StreamIndex:
        """Return an index that later rows do not change."""
        return replace(
            self,
            attempts=self.attempts[:],
            parts=self.parts[:],
            checkpoints=self.checkpoints[:],
            _blocks=self._blocks[:],
        )

    def without_zones(self, size: int) -> StreamIndex:
        """Return an index of a changed file of ``size`` bytes: every step may be anywhere in it."""
        return replace(
            self,
            size=size,
            is_sorted=False,
            has_repeats=True,
            attempts=self.attempts[:],
            parts=self.parts[:],
            checkpoints=[],
            _blocks=[],
            _low=STEP_MIN,
            _high=STEP_MAX,
            _block_start=0,
            _block_first=0,
        )

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in file order; the last one is still growing."""
        blocks = self._blocks
        for i, (low, _, start, high) in enumerate(blocks):
            stop = blocks[i + 1][2] if i + 1 < len(blocks) else self._block_start
            yield Block(start, stop, low, high)
        if self.size > self._block_start:
            yield Block(self._block_start, self.size, self._low, self._high)

    def blocks_between(self, low: int | None, high: int | None) -> Iterator[Block]:
        """Yield the blocks whose zone meets the steps ``low`` to ``high``, in file order.

        Both ends count; ``None`` is no limit. The zones are compared in one pass: a tenth of the
        time that making every `Block` takes.
        """
        first = STEP_MIN if low is None else low
        last = STEP_MAX if high is None else high
        blocks = self._blocks
        met = [i for i, (least, _, _, top) in enumerate(blocks) if least <= last and top >= first]
        for i in met:
            least, _, start, top = blocks[i]
            stop = blocks[i + 1][2] if i + 1 < len(blocks) else self._block_start
            yield Block(start, stop, least, top)
        if self.size > self._block_start and self._low <= last and self._high >= first:
            yield Block(self._block_start, self.size, self._low, self._high)

    def note_part(self, part: Part, *, lines: int | None, rows: int | None) -> None:
        """Take in that the lines noted last were set aside as ``part``.

        Args:
            part: its number and size.
            lines: how many lines were noted before its first one; ``None``: nobody counted.
            rows: how many metric rows.
        """
        if lines is not None and rows is not None:
            low, high = self._zone_from(self.size - part.size)
            # A changed file that nobody has read yet may hold any step.
            has_steps = low <= high and (low, high) != (STEP_MIN, STEP_MAX)
            part = replace(
                part,
                lines=self.lines - lines,
                rows=self.rows - rows,
                low=low if has_steps else None,
                high=high if has_steps else None,
            )
        self.parts.append(part)

    def _zone_from(self, start: int) -> tuple[int, int]:
        """Return the lowest and highest step of the blocks that reach behind ``start``."""
        low, high, begins = self._low, self._high, self._block_start
        for least, _, offset, top in reversed(self._blocks):
            if begins <= start:
                break
            low, high, begins = min(low, least), max(high, top), offset
        return low, high

    def scan(self, file: LineFile, start: int | None = None) -> None:
        """Take in the lines of ``file`` from ``start`` (by default: from where the index ends)."""
        at = self.size if start is None else start
        for _, chunk in file.chunks(at):
            lines = chunk[:-1].split(b"\n")
            steps = _steps_of(chunk)
            if steps is None:
                for line in lines:
                    self.scan_line(line, len(line) + 1)
                continue
            for line, step in zip(lines, steps, strict=True):
                self.note_row(step, len(line) + 1)

    def scan_line(self, line: bytes, size: int) -> None:
        """Take in one line of ``size`` bytes, given without its end, as it is read."""
        text = line.lstrip(b"\0")
        row = decode_line(text) if line else {}
        if row is not None:
            step = valid_step(row)
            self.note(size, step, row)
            return
        rows = joined_metric_lines(text)
        if rows:
            self._note_joined(rows, size)
        else:
            self.unreadable += 1
            self.note_line(size)

    def _note_joined(self, rows: list[Row], size: int) -> None:
        """Take in what stands in one line of ``size`` bytes, which lies in one block."""
        self.lines -= len(rows) - 1
        for row in rows[:-1]:
            self.note(0, valid_step(row), row)
        step = valid_step(rows[-1])
        if step is None:
            # The lines of an attempt that begins here come behind this one.
            self._take_marker(rows[-1], self.size + size)
            self.note_line(size)
        else:
            self.note_row(step, size)

    def zones(self) -> tuple[list[Zone], Zone]:
        """Return the zones of the closed blocks, and that of the block that is still open."""
        return self._blocks[:], (self._low, self._block_first, self._block_start, self._high)

    def take_zones(self, closed: list[Zone], of_open: Zone, block_lines: int) -> None:
        """Take over what `zones` of an equal index returned."""
        self._blocks, self.block_lines = closed, max(BLOCK_LINES, block_lines)
        self._low, self._block_first, self._block_start, self._high = of_open


def _steps_of(chunk: bytes) -> list[int] | None:
    """Return the steps of the rows in ``chunk``; ``None`` unless each line is a row and sound."""
    lines = decoded_lines(chunk, _decode_stepped) if is_safe_to_skip(chunk) else None
    if lines is None:
        return None
    steps = [line.step for line in lines]
    return steps if are_steps(steps) else None
