"""Putting rescued lines back: one file of the run is made anew beside the old one, and renamed over it.

Whoever reads meanwhile sees the old file or the new one, and so does everybody after a crash. What
happens before the rename leaves the same rows: what a resume would repair is repaired, and the sidecar
covers nothing of what is about to move.
"""

from __future__ import annotations

import contextlib
import errno
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import RescueError, TrackerError
from expr_tracker.interruption import is_from_signal
from expr_tracker.notices import Notices, counted, logger
from expr_tracker.rescue.owners import Owners, give
from expr_tracker.rescue.placing import Placement, place, with_numbers
from expr_tracker.rescue.target import Target, target_of
from expr_tracker.store.checkpoints import changed_lines
from expr_tracker.store.documents import NO_ROOM, read_document, replacing
from expr_tracker.store.files import parts_of, sidecar_of
from expr_tracker.store.index import StreamIndex
from expr_tracker.store.journal import clear_journal, read_journal
from expr_tracker.store.lines import decode_line, encode_line
from expr_tracker.store.lock import StreamLock, refuse_if_locked
from expr_tracker.store.markers import is_marker
from expr_tracker.store.paths import path_given
from expr_tracker.store.place import open_for_append, prepare
from expr_tracker.store.reader import LineFile, part_paths
from expr_tracker.store.rescue_file import read_rescue_file
from expr_tracker.store.sidecar import read_sidecar, save_index
from expr_tracker.store.summary_document import read_summary, write_summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from expr_tracker.row import Row
    from expr_tracker.store.files import LineKind
    from expr_tracker.store.parts import Part
    from expr_tracker.store.rescue_file import RescueFile

__all__ = ["RescueReport", "put_back"]

_ADVICE: Final = "Rescued rows are put back once it has ended: repeat the command then."
_NEEDED: Final = "are needed beside it"
_PIECE_BYTES: Final = 1 << 20


@dataclass(frozen=True)
class RescueReport:
    """What became of the lines of a rescue file."""

    file: Path
    """The rescue file, which is kept."""
    path: Path
    """The file of the run that its lines are of."""
    kind: LineKind
    """What the lines are."""
    rows: int
    """The rows, spans or lines of the console that were put back, or would be; no markers."""
    lines: int
    """The same with the markers."""
    lines_before: int
    """Lines that were in the file already."""
    attempt: int | None
    """The attempt that the rows continue; ``None`` where none were put back, or are of none."""
    damaged: list[int] = field(default_factory=list)
    """The 1-based numbers of the lines of the rescue file that are damaged and were left out."""


def put_back(
    file: str | os.PathLike[str],
    run: str | os.PathLike[str],
    *,
    stream: str | None = None,
    rank: int | None = None,
    dry_run: bool = False,
) -> RescueReport:
    """Put the lines of a rescue file where they belong in a run; repeated, it adds nothing.

    Args:
        file: the rescue file.
        run: the run's directory, also where the run was moved or resumed meanwhile.
        stream: the stream's name, ``"default"`` for the unnamed one; only where neither the rescue
            file's first line nor its name tells.
        rank: the rank, likewise.
        dry_run: find out what would be done, and change nothing.

    Raises:
        RescueError: it is no path, no rescue file, or of another run or stream.
        QueryError: the run is no path, or the rank no whole number from 0.
        NameRefusedError: the stream's name cannot be one.
        StreamInUseError: a live process writes the stream.
        RunNotFoundError: there is no such run.
        OSError: a file cannot be read or written; nothing was put back.
    """
    path = path_given(file, "file", RescueError, expected="a rescue file")
    with _explained(path):
        rescued = read_rescue_file(path)
    target = target_of(rescued, run, stream=stream, rank=rank)
    label = target.files.key.label
    with _explained(target.path, _size(target.path) + sum(map(len, rescued.lines))):
        if dry_run:
            refuse_if_locked(target.files.lock, label, _ADVICE)
            return _report(rescued, target, _placement(rescued, target.path))
        return _report(rescued, target, _put(rescued, target))


def _put(rescued: RescueFile, target: Target) -> Placement:
    """Put the lines where they belong, with the stream's lock; return where that was."""
    owners = Owners(target)
    lock = StreamLock(target.files.lock)
    lock.acquire(target.files.key.label, _ADVICE)
    try:
        if not lock.is_supported:
            logger.warning(
                "%s is on a file system without locks: see to it that nothing writes the run.",
                target.files.directory,
            )
        _remove_leftovers(target.path)
        placement = _placement(rescued, target.path)
        if placement.lines:
            index = _repaired(target)
            placement = _placement(rescued, target.path)
            _Rewriting(target, placement, index).carry_out()
    finally:
        owners.restore()  # also of a lock file that this call has made
        lock.release()
    return placement


@contextlib.contextmanager
def _explained(path: Path, size: int = 0) -> Iterator[None]:
    """Make an error of the system name a file, and what is needed where there is no room.

    Args:
        path: the file that is made anew, or is read.
        size: of what is written.
    """
    try:
        yield
    except TrackerError:
        raise
    except OSError as error:
        text = error.strerror or str(error)
        if is_from_signal(error) or _NEEDED in text:
            raise
        if error.errno in NO_ROOM:
            text += f": {counted(size, 'byte')} {_NEEDED}"
            raise OSError(error.errno, text, str(path.resolve())) from error
        if error.filename is not None:
            raise
        raise OSError(error.errno, text, str(path)) from error


def _placement(rescued: RescueFile, path: Path) -> Placement:
    try:
        file = LineFile(path)
    except FileNotFoundError:
        return place(rescued, None)
    with file:
        return place(rescued, file)


def _report(rescued: RescueFile, target: Target, placement: Placement) -> RescueReport:
    rows = len(placement.lines)
    if target.kind == "metrics":
        rows -= sum(is_marker(decode_line(line) or {}) for line in placement.lines)
    return RescueReport(
        file=rescued.path,
        path=target.path,
        kind=target.kind,
        rows=rows,
        lines=len(placement.lines),
        lines_before=len(rescued.lines) - len(placement.lines),
        attempt=placement.attempt,
        damaged=rescued.damaged,
    )


def _repaired(target: Target) -> StreamIndex:
    """Do to the file what a resume would do first, which changes no answer; return its index.

    A torn tail is cut off, and the open row that a killed process left in its journal is committed: the
    journal is only valid for a file of that size.
    """
    notices = Notices()
    path, journal = target.path, target.files.journal
    index = prepare(path, notices, is_indexed=target.kind != "console")
    notices.emit()
    if target.kind == "metrics":
        row = read_journal(journal, index.size)
        if row is not None:
            fd = open_for_append(path)
            try:
                os.write(fd, encode_line(row))
            finally:
                os.close(fd)
            index = prepare(path, Notices())
            if read_journal(journal, index.size) is not None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        clear_journal(journal)
    return index


@dataclass(frozen=True)
class _Segment:
    """The file that is made anew: the live file or a part of it."""

    path: Path
    start: int
    size: int
    number: int | None
    """The number of the part; ``None`` for the live file."""


class _Rewriting:
    """One line file that gets rescued lines; the stream's lock is held.

    Args:
        target: the file.
        placement: what is put where.
        index: what is known of the file.
    """

    def __init__(self, target: Target, placement: Placement, index: StreamIndex) -> None:
        self._path = target.path
        self._summary = target.files.summary if target.kind == "metrics" else None
        self._placement = placement
        self._index = index
        self._is_indexed = target.kind != "console"
        self._segment, behind = _segments_at(self._path, placement.position)
        self._renumbered = [each for each in behind if _rises_in(each.path, placement.numbers)]

    def carry_out(self) -> None:
        """Make the file anew and put it in its place.

        The parts behind it in which numbers of attempts rise come first, the last one before all: when
        this is killed in between, the rows are the old ones and numbers still rise from line to line,
        with a gap that the next call fills.

        Raises:
            OSError: it cannot be written; the old rows stay.
        """
        more = sum(map(len, self._placement.lines))
        if self._is_indexed:
            with _explained(self._segment.path, self._segment.size + more):
                self._withdraw_sidecar()
                self._withdraw_summary()
        for segment in reversed(self._renumbered):
            self._replace(segment, 0, [])
        placement = self._placement
        inserted = list(placement.lines)
        if placement.heading is not None:
            inserted.insert(0, encode_line(placement.heading))
        if placement.opening is not None:
            inserted.append(encode_line(placement.opening))
        self._replace(self._segment, placement.position - self._segment.start, inserted)
        if self._is_indexed:
            self._write_sidecar()

    def _replace(self, segment: _Segment, cut: int, inserted: list[bytes]) -> None:
        """Make one file anew: with lines put in at ``cut``, and with new numbers behind that."""
        content = segment.path.resolve()  # a link stays one
        size = segment.size + sum(map(len, inserted))
        with _explained(content, size), replacing(content) as beside, beside.open("xb") as new:
            with contextlib.ExitStack() as opened:
                old = opened.enter_context(content.open("rb")) if content.exists() else None
                if old is not None:
                    was = os.fstat(old.fileno())
                    # Takes bits of the mode away, so before them; where it is refused, `Owners` says so.
                    give(new.fileno(), was)
                    os.fchmod(new.fileno(), was.st_mode & 0o7777)
                    new.writelines(_pieces(old.fileno(), 0, cut))
                new.writelines(inserted)
                if old is not None and self._placement.numbers:
                    old.seek(cut)
                    new.writelines(with_numbers(each, self._placement.numbers) for each in old)
                elif old is not None:
                    new.writelines(_pieces(old.fileno(), cut, segment.size))
            new.flush()
            os.fsync(new.fileno())  # the disk has it before it takes its place
        _sync(content.parent)

    def _withdraw_sidecar(self) -> None:
        """Let the sidecar cover nothing; what it knows of parts and of damage stays.

        What it says of lines would be wrong the moment that the new file is in its place.
        """
        said = read_document(sidecar_of(self._path))
        if said is None:
            return
        known = read_sidecar(self._path).index or StreamIndex()
        with LineFile(self._path) as file:
            # Asked now: behind the rows that come in, every byte moves.
            changed = changed_lines(known.checkpoints, file) or known.changed_lines
            empty = StreamIndex(
                parts=self._index.parts,
                live_size=_size(self._path),
                missing_rows=self._index.missing_rows,
                changed_lines=changed,
                checkpoints=[
                    each
                    for each in known.checkpoints
                    if changed is None and each[0] <= self._placement.position
                ],
            )
            save_index(empty, file, _run_in(said))

    def _withdraw_summary(self) -> None:
        """Let nobody believe the last values of the summary: those of the rows may be others now.

        It may stay newer than the live file, where the rows go into a part.
        """
        if self._summary is None:
            return
        said = read_summary(self._summary)
        if said.values and said.is_whole:
            write_summary(self._summary, said.values, pins=said.pins, is_whole=False)

    def _write_sidecar(self) -> None:
        said = read_document(sidecar_of(self._path)) or {}
        index = prepare(self._path, Notices())
        index.live_size = _size(self._path)
        made_anew = {each.number: each.path for each in [self._segment, *self._renumbered]}
        index.parts = [
            self._enlarged(part, made_anew[part.number]) if part.number in made_anew else part
            for part in index.parts
        ]
        try:
            with LineFile(self._path) as file:
                save_index(index, file, _run_in(said))
        except OSError as error:  # the rows are there, and readers can do without
            if is_from_signal(error):
                raise
            logger.warning("%s could not be written: %s.", sidecar_of(self._path), error)

    def _enlarged(self, part: Part, path: Path) -> Part:
        """Return what is known of a part that was made anew."""
        size = _size(path)
        fresh = StreamIndex()
        with LineFile(path) as file:
            fresh.scan(file)
        blocks = [block for block in fresh.blocks() if block.low <= block.high]
        return replace(
            part,
            size=size,
            covered=size,
            lines=fresh.lines,
            rows=fresh.rows,
            low=min((block.low for block in blocks), default=None),
            high=max((block.high for block in blocks), default=None),
        )


def _segments_at(path: Path, position: int) -> tuple[_Segment, list[_Segment]]:
    """Return the last file that begins at ``position`` or before, and all behind it.

    The last, for parts stay as they are if they can.
    """
    before, _ = part_paths(path)
    segments, start = [], 0
    for each in [*before, path]:
        number = int(each.stem) if each is not path else None
        segments.append(_Segment(each, start, _size(each), number))
        start += segments[-1].size
    at = max((i for i, each in enumerate(segments) if each.start <= position), default=0)
    return segments[at], segments[at + 1 :]


def _rises_in(path: Path, numbers: Mapping[int, int]) -> bool:
    """Say whether a file has markers of attempts that are among ``numbers``."""
    if not numbers or not _size(path):
        return False
    with path.open("rb") as file:
        return any(with_numbers(line, numbers) != line for line in file)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _pieces(fd: int, start: int, stop: int) -> Iterator[bytes]:
    while start < stop:
        piece = os.pread(fd, min(_PIECE_BYTES, stop - start), start)
        if not piece:
            raise OSError(errno.EIO, "it became shorter while it was read")
        start += len(piece)
        yield piece


def _run_in(sidecar: Row) -> Row:
    run = sidecar.get("run")
    return run if isinstance(run, dict) else {}


def _remove_leftovers(path: Path) -> None:
    """Remove what a killed call left beside the files: only who holds the stream's lock makes them."""
    for file in (path.resolve(), sidecar_of(path), parts_of(path) / "*"):
        for leftover in file.parent.glob(f".{file.name}.*.new"):
            leftover.unlink(missing_ok=True)


def _sync(directory: Path) -> None:
    """Make sure that the disk has the rename; some file systems cannot, and keep it anyway."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            os.fsync(fd)
    finally:
        os.close(fd)
