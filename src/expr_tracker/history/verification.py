"""`verify` and `compare`: proof of what a run holds, and of whether two runs hold the same.

`verify` reads every line. What it finds wrong it lists, with line numbers; it repairs nothing.
Two runs whose streams have the same SHA-256 hold the same rows in the default reading, whatever
their files look like.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from expr_tracker.history.attempts import told_attempts
from expr_tracker.history.location import Producer, producers_of
from expr_tracker.history.progress import Progress, size_bytes
from expr_tracker.history.retrieval import rows_by_step
from expr_tracker.history.source import Source
from expr_tracker.history.status import Status, status_of
from expr_tracker.history.view import View
from expr_tracker.row import Row, without_nonfinite
from expr_tracker.store.documents import read_document
from expr_tracker.store.files import path_within, sidecar_of
from expr_tracker.store.index import StreamIndex
from expr_tracker.store.lines import decode_line
from expr_tracker.store.lock import is_locked
from expr_tracker.store.sidecar import tail_checksum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from expr_tracker.store.index import Attempt
    from expr_tracker.store.parts import LostPart

__all__ = ["AttemptReport", "RunReport", "StreamReport", "compare", "verify"]

Sidecar = Literal["consistent", "behind", "missing", "wrong"]

#: More line numbers help nobody; the count is exact.
_LINES_LISTED: Final = 1000
#: Differing steps that `compare` names per stream.
_STEPS_LISTED: Final = 5
_HASH_BYTES: Final = 1 << 20
#: Twice what a table may have when it is logged; a larger file is read for its hash only.
_TABLE_BYTES_MAX: Final = 128 << 20

_canonical = msgspec.json.Encoder(order="sorted").encode


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
    """Their 1-based numbers, the first thousand."""
    foreign: int = 0
    foreign_lines: list[int] = field(default_factory=list)
    torn_bytes: int = 0
    has_open_row: bool = False
    """Whether an open row of a dead process was read from its journal."""
    sidecar: Sidecar = "missing"
    parts_lost: list[LostPart] = field(default_factory=list)
    """Set-aside parts that are missing or cut."""
    media: int = 0
    """Media files that rows refer to, or that tables of theirs do."""
    media_missing: list[str] = field(default_factory=list)
    media_changed: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """How messages name it."""
        stream = "default" if self.stream is None else self.stream
        return f"{stream} rank {self.rank}" if self.rank else stream

    @property
    def problems(self) -> list[str]:
        """What is wrong, one sentence each."""
        found = []
        if self.unreadable:
            lines = _numbers(self.unreadable_lines, self.unreadable)
            found.append(f"unreadable lines: {lines}")
        if self.foreign:
            found.append(
                f"lines without a valid _step: {_numbers(self.foreign_lines, self.foreign)}"
            )
        if self.torn_bytes:
            found.append(f"a torn last line of {self.torn_bytes} bytes")
        # A part that it names and that is gone is all that is wrong with it.
        if self.sidecar == "wrong" and not any(lost.part for lost in self.parts_lost):
            found.append(
                "the sidecar does not belong to this file (it is rebuilt when it is read)"
            )
        found += [f"part {part}" for part in self.parts_lost]
        found += [f"media file {name} is missing" for name in self.media_missing]
        found += [f"media file {name} does not have its hash" for name in self.media_changed]
        return found


@dataclass
class RunReport:
    """A whole run."""

    path: Path
    status: Status
    has_identity: bool
    streams: list[StreamReport]

    @property
    def problems(self) -> list[str]:
        """What is wrong, one sentence each; empty for a sound run."""
        found = [] if self.has_identity else ["run.json is missing"]
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

    Args:
        run: the run's directory, or one of its metrics files.
        stream: as `producers_of` takes it.
        rank: likewise.
        progress: called with the bytes done and the bytes to do; every file is read twice.

    Raises:
        RunNotFoundError: there is no such run, stream or rank.
    """
    producers = producers_of(run, stream, rank)
    directory = producers[0].path.parent
    read = Progress(progress, 2 * sum(map(size_bytes, producers)))
    return RunReport(
        path=directory,
        status=status_of(run),
        has_identity=read_document(producers[0].files.identity) is not None,
        streams=[_verify_stream(producer, read) for producer in producers],
    )


def compare(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> list[str]:
    """Return what differs between the default readings of two runs; empty if nothing does.

    Raises:
        RunNotFoundError: one of them is no run.
    """
    ours = {producer.key: producer for producer in producers_of(one, "*")}
    theirs = {producer.key: producer for producer in producers_of(other, "*")}
    found = []
    for key in sorted({*ours, *theirs}, key=lambda key: key.order):
        if key not in theirs:
            found.append(f"{key.label}: only in {os.fspath(one)}")
        elif key not in ours:
            found.append(f"{key.label}: only in {os.fspath(other)}")
        else:
            found += [f"{key.label}: {line}" for line in _differences(ours[key], theirs[key])]
    return found


def _differences(one: Producer, other: Producer) -> list[str]:
    listed: list[str] = []
    count = 0
    with Source.offline(one) as left, Source.offline(other) as right:
        left.report_lost()
        right.report_lost()
        for step, mine, theirs in _paired(_rows(left), _rows(right)):
            if mine is not None and theirs is not None and _line(mine) == _line(theirs):
                continue
            count += 1
            if count <= _STEPS_LISTED:
                listed.append(f"step {step}: {_difference(mine, theirs)}")
    if count > _STEPS_LISTED:
        listed.append(f"and {count - _STEPS_LISTED} more steps")
    return listed


def _rows(source: Source) -> Iterator[Row]:
    for batch in rows_by_step(source, View(source.index.attempts, None)):
        yield from batch


def _paired(
    left: Iterator[Row], right: Iterator[Row]
) -> Iterator[tuple[int, Row | None, Row | None]]:
    """Yield the rows of both sides by step; ``None`` where one side has no such step."""
    mine, theirs = next(left, None), next(right, None)
    while mine is not None or theirs is not None:
        if theirs is None or (mine is not None and mine["_step"] < theirs["_step"]):
            assert mine is not None
            yield mine["_step"], mine, None
            mine = next(left, None)
        elif mine is None or theirs["_step"] < mine["_step"]:
            yield theirs["_step"], None, theirs
            theirs = next(right, None)
        else:
            yield mine["_step"], mine, theirs
            mine, theirs = next(left, None), next(right, None)


def _difference(mine: Row | None, theirs: Row | None) -> str:
    if mine is None:
        return "only on the other side"
    if theirs is None:
        return "missing on the other side"
    parts = []
    for name in dict.fromkeys([*mine, *theirs]):
        if name not in theirs:
            parts.append(f"{name!r} is missing on the other side")
        elif name not in mine:
            parts.append(f"{name!r} only on the other side")
        elif _line({name: mine[name]}) != _line({name: theirs[name]}):
            parts.append(f"{name!r} {mine[name]!r:.60} != {theirs[name]!r:.60}")
    return "; ".join(parts)


def _line(row: Row) -> bytes:
    """Return the canonical bytes of a row: sorted keys, shortest exact numbers."""
    strict = without_nonfinite(row)
    try:
        return _canonical(strict) + b"\n"
    except (UnicodeEncodeError, RecursionError):
        text = json.dumps(strict, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace") + b"\n"


def _verify_stream(producer: Producer, progress: Progress) -> StreamReport:
    report = StreamReport(producer.key.stream, producer.key.rank, producer.path)
    # Asked before the file is opened: a writer that ends in between is running, not lost.
    was_live = is_locked(producer.files.lock)
    with Source.offline(producer) as source:
        scanned = _count(source, report, progress)
        told = told_attempts(producer, source, was_live=was_live, attempts=scanned)
        for attempt, each in zip(told, report.attempts, strict=True):
            each.status = attempt.status
        _hash(source, report, progress)
        report.torn_bytes = source.torn_bytes
        report.has_open_row = source.open_row is not None
        report.sidecar = _sidecar(source)
        report.parts_lost = source.lost()
    return report


def _count(source: Source, report: StreamReport, progress: Progress) -> list[Attempt]:
    """Count rows by attempt and number the damaged lines; return the attempts as lines say them."""
    scanned = StreamIndex()
    assert source.file is not None
    scanned.scan(source.file)
    view = View(scanned.attempts, "all")
    media: dict[str, str] = {}
    lines = 0
    steps: dict[int, list[int]] = {}
    for stretch in view.stretches(0, source.size):
        for at, piece in source.pieces(stretch.start, stretch.stop):
            damaged, foreign = set(source.unreadable), set(source.foreign)
            rows = source.decode(at, piece)
            for number in _new_numbers(piece, at, set(source.unreadable) - damaged):
                report.unreadable_lines.append(lines + number)
            for number in _new_numbers(piece, at, set(source.foreign) - foreign):
                report.foreign_lines.append(lines + number)
            lines += piece.count(b"\n")
            progress.advance(len(piece))
            steps.setdefault(stretch.number, []).extend(row["_step"] for row in rows)
            if b"sha256" in piece:
                for row in rows:
                    media.update(_media_of(row))
    report.unreadable, report.foreign = len(source.unreadable), len(source.foreign)
    del report.unreadable_lines[_LINES_LISTED:], report.foreign_lines[_LINES_LISTED:]
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
    _check_media(source.path.parent, media, report)
    return scanned.attempts


def _new_numbers(piece: bytes, at: int, offsets: set[int]) -> list[int]:
    """Return the line numbers of these offsets, counted from the piece, which begins at ``at``."""
    return [piece.count(b"\n", 0, offset - at) + 1 for offset in sorted(offsets)]


def _hash(source: Source, report: StreamReport, progress: Progress) -> None:
    digest = hashlib.sha256()
    size_of_row = source.size // max(1, report.rows)
    left = source.size
    for batch in rows_by_step(source, View(source.index.attempts, None)):
        digest.update(b"".join(map(_line, batch)))
        report.steps += len(batch)
        read = min(left, len(batch) * size_of_row)
        left -= read
        progress.advance(read)
        if report.min_step is None:
            report.min_step = batch[0]["_step"]
        report.max_step = batch[-1]["_step"]
    progress.advance(left)
    report.sha256 = digest.hexdigest()


def _sidecar(source: Source) -> Sidecar:
    path = sidecar_of(source.path)
    if not path.exists():
        return "missing"
    document = read_document(path)
    file = source.file
    if document is None or file is None:
        return "wrong"
    try:
        index = StreamIndex.from_document(document)
    except ValueError:
        return "wrong"
    if index.size > file.size or document.get("tail") != tail_checksum(file, index.size):
        return "wrong"
    if index.size < file.size:
        return "behind"
    fresh = StreamIndex()
    fresh.scan(file)
    same = (index.lines, index.rows, index.max_step, index.unreadable, len(index.attempts))
    expected = (fresh.lines, fresh.rows, fresh.max_step, fresh.unreadable, len(fresh.attempts))
    return "consistent" if same == expected else "wrong"


def _media_of(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the path and SHA-256 of every media reference in a row."""
    if isinstance(value, dict):
        path, digest = value.get("path"), value.get("sha256")
        if isinstance(path, str) and isinstance(digest, str) and path.startswith("media/"):
            yield path, digest
            return
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            if isinstance(item, (dict, list)):
                yield from _media_of(item)


def _check_media(directory: Path, media: dict[str, str], report: StreamReport) -> None:
    """Compare the media files with their hashes; pictures in a table count like those in a row."""
    found = dict(media)
    unread = sorted(found.items())
    while unread:
        name, expected = unread.pop()
        path = path_within(directory, name)
        if path is None or not path.is_file():
            report.media_missing.append(name)
        elif _sha256(path) != expected.removeprefix("sha256:"):
            report.media_changed.append(name)
        elif name.endswith(".table.json"):
            for inner, digest in _media_of(_table(path)):
                if inner not in found:
                    found[inner] = digest
                    unread.append((inner, digest))
    report.media = len(found)
    report.media_missing.sort()
    report.media_changed.sort()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_HASH_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def _table(path: Path) -> Row | None:
    return decode_line(path.read_bytes()) if path.stat().st_size <= _TABLE_BYTES_MAX else None


def _numbers(lines: list[int], count: int) -> str:
    shown = ", ".join(map(str, lines[:10]))
    return f"{shown} and {count - 10} more" if count > 10 else shown
