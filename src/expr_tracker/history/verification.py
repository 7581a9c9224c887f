"""`verify`: proof of what a run holds.

It reads every line. What it finds wrong it lists, with line numbers; it repairs nothing.
Two runs whose streams have the same SHA-256 hold the same rows in the default reading, whatever
their files look like.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from expr_tracker.errors import TrackerError
from expr_tracker.history.attempts import told_attempts
from expr_tracker.history.location import Producer, producers_of
from expr_tracker.history.media_files import checked, references
from expr_tracker.history.progress import Progress, size_bytes
from expr_tracker.history.retrieval import rows_by_step
from expr_tracker.history.source import Source
from expr_tracker.history.status import Status, status_of
from expr_tracker.history.view import View
from expr_tracker.interruption import is_from_signal
from expr_tracker.notices import counted
from expr_tracker.store.checkpoints import changed_lines
from expr_tracker.store.documents import read_document
from expr_tracker.store.files import StreamKey
from expr_tracker.store.index import StreamIndex
from expr_tracker.store.lines import encode_canonical_line
from expr_tracker.store.sidecar import missing_rows_text
from expr_tracker.texts import refusal_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection
    from pathlib import Path

    from expr_tracker.store.index import Attempt
    from expr_tracker.store.parts import LostPart

__all__ = ["AttemptReport", "RunReport", "StreamReport", "verify"]

Sidecar = Literal["consistent", "behind", "missing", "older", "wrong"]

#: More line numbers help nobody; the count is exact.
_LINES_LISTED: Final = 1000


@dataclass
class AttemptReport:
    """The rows of one attempt, superseded ones included."""

    number: int
    from_step: int | None
    status: str | None
    """How it ended, in the words of `list_attempts`."""
    clock_back: float | None = None
    """By how many seconds its clock was behind the newest time before it, beyond an hour."""
    rows: int = 0
    steps: int = 0
    min_step: int | None = None
    max_step: int | None = None


@dataclass
class StreamReport:
    """One stream and rank."""

    stream: str | None
    rank: int
    path: Path
    rows: int = 0
    """Metric lines, patches and superseded ones included."""
    steps: int = 0
    """Steps of the default reading."""
    min_step: int | None = None
    max_step: int | None = None
    sha256: str = ""
    """Over the rows of the default reading, keys sorted, one JSON line each."""
    attempts: list[AttemptReport] = field(default_factory=list)
    unreadable: int = 0
    unreadable_lines: list[int] = field(default_factory=list)
    """Their 1-based numbers, the first thousand. The halves of a broken line are one."""
    joined: int = 0
    """Lines whose end is damaged; the rows that it joins are read, and counted."""
    joined_lines: list[int] = field(default_factory=list)
    zero_bytes: int = 0
    """Zeros in front of lines that are read: lines may have stood there."""
    zero_lines: list[int] = field(default_factory=list)
    missing_rows: int = 0
    """Rows that the file had when its sidecar was written, and has no longer."""
    changed_lines: tuple[int, int] | None = None
    """The first and the last of the lines among which a byte is not as it was written."""
    foreign: int = 0
    foreign_lines: list[int] = field(default_factory=list)
    torn_bytes: int = 0
    has_open_row: bool = False
    """Whether an open row of a dead process was read from its journal."""
    sidecar: Sidecar = "missing"
    is_sidecar_whole: bool = False
    """Whether it could be read at all."""
    parts_lost: list[LostPart] = field(default_factory=list)
    """Set-aside parts that are missing or cut."""
    media: int = 0
    """Media files that rows refer to, or that tables of theirs do."""
    media_missing: list[str] = field(default_factory=list)
    media_changed: list[str] = field(default_factory=list)
    media_unreadable: list[str] = field(default_factory=list)
    """Those that the system does not read, each with its reason."""
    refusal: str | None = None
    """Why the file cannot be read: nothing else is known of the stream then."""

    @property
    def label(self) -> str:
        """How messages name it."""
        return StreamKey(self.stream, self.rank).label

    @property
    def _tells_damage(self) -> bool:
        """Whether something else says why the sidecar and the file differ."""
        return bool(
            self.missing_rows
            or self.changed_lines
            or self.unreadable
            or self.joined
            or self.foreign
            or self.zero_bytes
            or self.torn_bytes
            or any(lost.part for lost in self.parts_lost)
        )

    @property
    def problems(self) -> list[str]:
        """What is wrong, one sentence each."""
        if self.refusal is not None:
            return [f"{self.path.name} cannot be read: {self.refusal}"]
        found = []
        if self.unreadable:
            lines = _numbers(self.unreadable_lines, self.unreadable)
            found.append(f"unreadable lines: {lines}")
        if self.zero_bytes:
            count = len(self.zero_lines)
            found.append(
                f"{counted(self.zero_bytes, 'zero byte')} where lines were, in front of "
                f"{'line' if count == 1 else 'lines'} {_numbers(self.zero_lines, count)}"
            )
        if self.changed_lines is not None:
            first, last = self.changed_lines
            where = f"line {first}" if first == last else f"lines {first} to {last}"
            found.append(f"{where}: the bytes are not those that were written")
        if self.missing_rows:
            found.append(missing_rows_text(self.missing_rows))
        if self.joined:
            lines = _numbers(self.joined_lines, self.joined)
            found.append(
                f"lines with a damaged end: {lines} (nothing is lost: the rows that it joins are read)"
            )
        if self.foreign:
            found.append(
                f"lines without a valid _step: {_numbers(self.foreign_lines, self.foreign)}"
            )
        if self.torn_bytes:
            found.append(f"a torn last line of {counted(self.torn_bytes, 'byte')}")
        if self.sidecar == "wrong" and not (self.is_sidecar_whole and self._tells_damage):
            found.append(
                "the sidecar does not belong to this file (it is rebuilt when it is read)"
            )
        found += [f"part {part}" for part in self.parts_lost]
        found += [f"media file {name} is missing" for name in self.media_missing]
        found += [f"media file {name} does not have its hash" for name in self.media_changed]
        found += [f"media file {told} (it cannot be read)" for told in self.media_unreadable]
        return found


@dataclass
class RunReport:
    """A whole run."""

    path: Path
    status: Status
    has_identity: bool
    streams: list[StreamReport]

    @property
    def _is_of_older_version(self) -> bool:
        return bool(self.streams) and all(stream.sidecar == "older" for stream in self.streams)

    @property
    def notes(self) -> list[str]:
        """What an older version wrote otherwise or not at all, one sentence each; nothing is wrong with it."""
        found = []
        if not self.has_identity and self._is_of_older_version:
            found.append(
                "there is no run.json: an older version wrote the run, and the next init adds it"
            )
        text = "the sidecar is of an older version, and not used; the next init makes a new one"
        found += [f"{each.label}: {text}" for each in self.streams if each.sidecar == "older"]
        return found

    @property
    def problems(self) -> list[str]:
        """What is wrong, one sentence each; empty for a sound run."""
        is_due = not self.has_identity and not self._is_of_older_version
        found = ["run.json is missing"] if is_due else []
        for stream in self.streams:
            found += [f"{stream.label}: {problem}" for problem in stream.problems]
        return found


def verify(
    run: str | os.PathLike[str],
    stream: Any = "*",
    rank: Any = None,
    *,
    progress: Callable[[int, int], object] | None = None,
) -> RunReport:
    """Read every line of a run and report what is there and what is wrong.

    A stream whose file cannot be read costs the others nothing: its report says why.

    Args:
        run: the run's directory, or one of its metrics files.
        stream: ``"*"`` is every stream; ``None`` the default producer; a name; a list of names.
        rank: a number, a list of them, or ``"*"``; ``None`` is the lowest rank of one stream and all
            ranks of several.
        progress: called with the bytes done and the bytes to do; every file is decoded twice.

    Raises:
        RunNotFoundError: there is no such run, stream or rank.
        OSError: none of the files can be read.
    """
    producers = producers_of(run, stream, rank)
    directory = producers[0].path.parent
    read = Progress(progress, 2 * sum(map(size_bytes, producers)))
    streams: list[StreamReport] = []
    refused: OSError | TrackerError | None = None
    for producer in producers:
        report = StreamReport(producer.key.stream, producer.key.rank, producer.path)
        try:
            _verify_stream(producer, report, read)
        except (OSError, TrackerError) as error:
            if is_from_signal(error):
                raise
            refused = error
            report = StreamReport(
                producer.key.stream, producer.key.rank, producer.path, refusal=refusal_of(error)
            )
        streams.append(report)
    if refused is not None and all(one.refusal is not None for one in streams):
        raise refused
    return RunReport(
        path=directory,
        status=status_of(run),
        has_identity=read_document(producers[0].files.identity) is not None,
        streams=streams,
    )


def _verify_stream(producer: Producer, report: StreamReport, progress: Progress) -> None:
    with Source.offline(producer) as source:
        scanned = _count(source, report, progress)
        told = told_attempts(producer, source, scanned)
        for attempt, each in zip(told, report.attempts, strict=True):
            each.status = attempt.status
        _hash(source, report, progress)
        report.torn_bytes = source.torn_bytes
        report.has_open_row = source.open_row is not None
        report.sidecar = _sidecar(source, report)
        report.is_sidecar_whole = source.sidecar.index is not None
        report.parts_lost = source.lost()
        report.missing_rows = source.index.missing_rows
        if not report.parts_lost:
            report.changed_lines = _changed_lines(source)


def _changed_lines(source: Source) -> tuple[int, int] | None:
    """Return the first and the last of the lines among which the first changed byte is, or was."""
    known = source.sidecar.index
    if known is None or source.file is None:
        return None
    return changed_lines(known.checkpoints, source.file) or known.changed_lines


def _count(source: Source, report: StreamReport, progress: Progress) -> list[Attempt]:
    """Count rows by attempt and number the damaged lines; return the attempts as lines say them."""
    scanned = StreamIndex()
    assert source.file is not None
    scanned.scan(source.file)
    view = View(scanned.attempts, "all")
    media: dict[str, str] = {}
    lines = 0
    numbers: dict[int, int] = {}
    steps: dict[int, list[int]] = {}
    for stretch in view.stretches(0, source.size):
        for at, piece in source.pieces(stretch.start, stretch.stop):
            rows = source.decode(at, piece)
            for offset in source.damage.offsets() - numbers.keys():
                numbers[offset] = lines + piece.count(b"\n", 0, offset - at) + 1
            lines += piece.count(b"\n")
            progress.advance(len(piece))
            steps.setdefault(stretch.number, []).extend(row["_step"] for row in rows)
            if b"sha256" in piece:
                for row in rows:
                    media.update(references(row))
    unreadable = source.unreadable
    report.unreadable, report.unreadable_lines = _listed(unreadable, numbers)
    report.joined, report.joined_lines = _listed(source.damage.joined, numbers)
    report.zero_bytes = sum(source.damage.zeros.values())
    _, report.zero_lines = _listed(source.damage.zeros.keys(), numbers)
    report.foreign, report.foreign_lines = _listed(source.damage.foreign, numbers)
    for attempt in scanned.attempts:
        mine = steps.pop(attempt.number, [])
        report.rows += len(mine)
        report.attempts.append(
            AttemptReport(
                number=attempt.number,
                from_step=attempt.from_step,
                status=attempt.status,
                clock_back=attempt.clock_back,
                rows=len(mine),
                steps=len(set(mine)),
                min_step=min(mine, default=None),
                max_step=max(mine, default=None),
            )
        )
    found = checked(source.path.parent, media)
    report.media, report.media_missing = found.count, found.missing
    report.media_changed, report.media_unreadable = found.changed, found.unreadable
    return scanned.attempts


def _listed(offsets: Collection[int], numbers: dict[int, int]) -> tuple[int, list[int]]:
    """Return how many lines there are, and the numbers of the first ones."""
    return len(offsets), sorted(numbers[offset] for offset in offsets)[:_LINES_LISTED]


def _hash(source: Source, report: StreamReport, progress: Progress) -> None:
    digest = hashlib.sha256()
    size_of_row = source.size // max(1, report.rows)
    left = source.size
    for batch in rows_by_step(source, View(source.index.attempts, None)):
        digest.update(b"".join(map(encode_canonical_line, batch)))
        report.steps += len(batch)
        read = min(left, len(batch) * size_of_row)
        left -= read
        progress.advance(read)
        if report.min_step is None:
            report.min_step = batch[0]["_step"]
        report.max_step = batch[-1]["_step"]
    progress.advance(left)
    report.sha256 = digest.hexdigest()


def _sidecar(source: Source, report: StreamReport) -> Sidecar:
    said, file = source.sidecar, source.file
    known = said.index
    if not said.exists:
        return "missing"
    if said.size_before is not None and file is not None:
        # In a form that is not read any more; that the file is shorter than it was can be told.
        return "older" if said.size_before <= file.size + file.torn_bytes else "wrong"
    if known is None or file is None or not said.fits(file):
        return "wrong"
    if known.size < file.size:
        return "behind"
    if report.unreadable or report.joined or report.foreign or report.zero_bytes:
        return "consistent"  # it may count what was sound when it was written
    fresh = StreamIndex()
    fresh.scan(file)
    same = (known.lines, known.rows, known.max_step, known.unreadable, len(known.attempts))
    expected = (fresh.lines, fresh.rows, fresh.max_step, fresh.unreadable, len(fresh.attempts))
    return "consistent" if same == expected else "wrong"


def _numbers(lines: list[int], count: int) -> str:
    shown = ", ".join(map(str, lines[:10]))
    return f"{shown} and {count - 10} more" if count > 10 else shown
