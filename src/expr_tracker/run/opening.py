"""Opening a stream for writing: its lock, the run's identity, what an earlier attempt left."""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import StreamInUseError
from expr_tracker.options import Options, stream_in_use_from_environment
from expr_tracker.run.place import Place, check_case
from expr_tracker.store.documents import write_once
from expr_tracker.store.files import RunFiles, StreamKey
from expr_tracker.store.journal import clear_journal, read_journal
from expr_tracker.store.lines import encode_line
from expr_tracker.store.lock import StreamLock
from expr_tracker.store.markers import begin_marker, end_marker
from expr_tracker.store.writer import LineWriter

if TYPE_CHECKING:
    import threading
    from pathlib import Path

    from expr_tracker.clock import Clock
    from expr_tracker.notices import Notices
    from expr_tracker.row import Row

__all__ = ["Opened", "begin_attempt", "mark_attempt", "mark_end", "open_stream"]

#: Streams tried with ET_STREAM_IN_USE=new: more writers of one run at once are a mistake.
_SIBLINGS_MAX: Final = 1_000


@dataclass(frozen=True)
class Opened:
    """A stream that this process may write."""

    files: RunFiles
    lock: StreamLock
    writer: LineWriter
    identity: Row
    attempt: int
    highest_step: int | None
    newest_step: int | None
    is_summary_behind: bool
    """Whether the file may hold rows that its summary does not know, or have lost some that it does."""


def open_stream(
    place: Place,
    key: StreamKey,
    options: Options,
    *,
    lock: threading.RLock,
    clock: Clock,
    notices: Notices,
) -> Opened:
    """Take the stream's lock, repair its file and begin the next attempt.

    Raises:
        StreamInUseError: another live process writes it.
        NameRefusedError: the stream meets another one on case-blind file systems.
        OSError: the directory cannot be written.
    """
    place.directory.mkdir(parents=True, exist_ok=True)
    check_case(place.directory, key)
    files, stream_lock = _take_lock(place, key, notices)
    try:
        identity = write_once(
            files.identity,
            {
                "id": str(uuid.uuid4()),
                "created": time.time(),
                "project": place.project,
                "name": place.name,
            },
        )
        is_older = _is_older(files.summary, files.metrics)
        writer = LineWriter(files.metrics, options, lock=lock, clock=clock, notices=notices)
        is_summary_behind = writer.index.rows > 0 and (
            is_older
            or options.resume_step is not None
            or writer.index.attempts[-1].status is None  # killed
        )
        with lock:
            attempt = begin_attempt(files, writer, options, clock=clock)
    except BaseException:
        stream_lock.release()
        raise
    index = writer.index
    return Opened(
        files,
        stream_lock,
        writer,
        identity,
        attempt,
        index.attempt_max_step,
        index.last_step if options.resume_step is None else options.resume_step - 1,
        is_summary_behind,
    )


def _is_older(path: Path, than: Path) -> bool:
    try:
        return path.stat().st_mtime_ns < than.stat().st_mtime_ns
    except OSError:
        return True


def _take_lock(place: Place, key: StreamKey, notices: Notices) -> tuple[RunFiles, StreamLock]:
    wanted = key
    if_in_use = stream_in_use_from_environment()
    for number in range(2, _SIBLINGS_MAX + 2):
        files = RunFiles(place.directory, key)
        lock = StreamLock(files.lock)
        try:
            lock.acquire(key.label)
        except StreamInUseError:
            if if_in_use == "refuse" or number > _SIBLINGS_MAX:
                raise
            stem = wanted.stream if wanted.stream is not None else "default"
            key = StreamKey(f"{stem}-{number}", key.rank)
            continue
        if key is not wanted:
            notices.say(
                f"Stream {wanted.label!r} is being written by another process; this one writes "
                f"{key.label!r} (ET_STREAM_IN_USE=new)."
            )
        if not lock.is_supported:
            notices.say(
                f"{place.directory} is on a file system without locks: nothing keeps a second "
                f"process from writing {key.label!r} too. Give every process its own stream."
            )
        return files, lock
    raise AssertionError("the loop returns or raises")


def begin_attempt(files: RunFiles, writer: LineWriter, options: Options, *, clock: Clock) -> int:
    """Commit the journal, mark the attempt, and return its number."""
    index = writer.index
    if index.last_time is not None:
        clock.hold(index.last_time)
    journal = read_journal(files.journal, index.size)
    if journal is not None:
        writer.append_row(journal, journal["_step"], False)  # noqa: FBT003 - as in the recorder
    clear_journal(files.journal)
    if index.lines == 0:
        if options.resume_step is not None:
            index.attempt_max_step = options.resume_step - 1
        return 1
    number = index.attempts[-1].number + 1
    mark_attempt(writer, number, options.resume_step, clock=clock)
    return number


def mark_attempt(writer: LineWriter, number: int, from_step: int | None, *, clock: Clock) -> None:
    """Append the marker of a new attempt; the writer's lock is held."""
    marker = begin_marker(number, from_step, time=clock.wall(), pid=os.getpid())
    writer.append_line(encode_line(marker), marker=marker)


def mark_end(writer: LineWriter, number: int, status: str, *, clock: Clock) -> None:
    """Append the marker of an attempt's own end; the writer's lock is held."""
    marker = end_marker(number, status, time=clock.wall())
    writer.append_line(encode_line(marker), marker=marker)
