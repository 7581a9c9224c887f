"""Opening a stream for writing: its lock, the run's identity, what an earlier attempt left.

What comes out is an `OpenStream`; until then everything that was taken is given back on failure.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import StreamInUseError
from expr_tracker.interruption import is_from_signal
from expr_tracker.options import (
    Options,
    rank_from_environment,
    stream_in_use_from_environment,
)
from expr_tracker.record.recorder import Recorder
from expr_tracker.row import RowEncoder
from expr_tracker.run.life import Life
from expr_tracker.run.place import Place, check_case
from expr_tracker.run.stream import OpenStream, drop_namesake, warn_of_value
from expr_tracker.store.documents import NO_ROOM, damaged_of, mend, write_once
from expr_tracker.store.files import RunFiles, StreamKey
from expr_tracker.store.journal import clear_journal, read_journal
from expr_tracker.store.lines import encode_line
from expr_tracker.store.lock import StreamLock, beginning_in
from expr_tracker.store.markers import REWOUND, begin_marker, end_marker
from expr_tracker.store.names import check_stream, stream_label
from expr_tracker.store.summary_document import read_summary
from expr_tracker.store.writer import LineWriter

if TYPE_CHECKING:
    from expr_tracker.clock import Clock
    from expr_tracker.notices import Notices
    from expr_tracker.row import Row

__all__ = ["mark_rewind", "open_beside", "open_stream"]

#: Streams tried with ET_STREAM_IN_USE=new: more writers of one run at once are a mistake.
_SIBLINGS_MAX: Final = 1_000


def open_stream(
    place: Place,
    options: Options,
    *,
    started_at: float | None,
    clock: Clock,
    notices: Notices,
) -> tuple[OpenStream, bool]:
    """Take the stream's lock, repair its file and begin the next attempt.

    Args:
        place: where the run is.
        options: its tunables.
        started_at: when the run was opened, for the sidecar.
        clock: for the times of rows.
        notices: where faults are counted and said.

    Returns:
        The stream, and whether its file may hold rows that its summary does not know, or have lost
        some that it does.

    Raises:
        StreamInUseError: another live process writes it.
        NameRefusedError: the stream's name breaks its rule, or meets another one on case-blind file
            systems.
        OSError: the directory cannot be written.
    """
    check_stream(options.stream)
    rank = rank_from_environment(notices.say)
    key = StreamKey(options.stream, rank if options.rank_aware else 0)
    try:
        place.directory.mkdir(parents=True, exist_ok=True)
        files, stream_lock = _take_lock(place, key, notices)
    except OSError as error:
        if is_from_signal(error) or error.errno not in NO_ROOM:
            raise
        text = f"{error.strerror}: a run needs a folder and a few files. Free some room, or pass dir=..."
        raise OSError(error.errno, text, error.filename or str(place.directory)) from error
    try:
        identity, has_room = _identity(files, place, notices)
        lock = threading.RLock()
        writer = LineWriter(files.metrics, options, lock=lock, clock=clock, notices=notices)
        is_summary_behind = writer.index.rows > 0 and (
            options.resume_step is not None
            or _was_killed(writer)
            or not read_summary(files.summary).is_current(files)
        )
        with lock:
            attempt = _begin_attempt(files, writer, options, clock=clock, notices=notices)
        encoder = RowEncoder(
            partial(warn_of_value, notices),
            files.media,
            drop=partial(drop_namesake, notices),
            bytes_max=options.max_record_bytes,
        )
        stream = OpenStream(
            place=place,
            rank=rank,
            files=files,
            options=options,
            identity=identity,
            is_identity_written=has_room,
            run_row={"project": place.project, "name": place.name, "started_at": started_at},
            notices=notices,
            clock=clock,
            lock=lock,
            stream_lock=stream_lock,
            writer=writer,
            encoder=encoder,
            recorder=Recorder(
                writer, options, lock=lock, clock=clock, notices=notices, encoder=encoder
            ),
            life=Life(place.name, attempt),
        )
        _continue_from(stream)
    except BaseException:
        stream_lock.release()
        raise
    return stream, is_summary_behind


def open_beside(stream: OpenStream, name: str) -> OpenStream:
    """Open a second stream of the same run, with a lock, rows and attempts of its own.

    Raises:
        StreamInUseError: another process of the run writes it already.
        NameRefusedError: the user's stream differs from it by letter case only.
        OSError: its files cannot be opened.
    """
    files = RunFiles(stream.files.directory, StreamKey(name, stream.files.key.rank))
    # The user's resume step is a step of the user's stream.
    options = replace(stream.options, resume_step=None)
    clock, notices = stream.clock, stream.notices
    stream_lock = _begin(files)
    try:
        lock = threading.RLock()
        writer = LineWriter(files.metrics, options, lock=lock, clock=clock, notices=notices)
        with lock:
            attempt = _begin_attempt(files, writer, options, clock=clock, notices=notices)
        encoder = RowEncoder(lambda _key, _text: None)
        second = replace(
            stream,
            files=files,
            options=options,
            lock=lock,
            stream_lock=stream_lock,
            writer=writer,
            encoder=encoder,
            recorder=Recorder(
                writer, options, lock=lock, clock=clock, notices=notices, encoder=encoder
            ),
            life=Life(stream.place.name, attempt),
        )
        _continue_from(second)
    except BaseException:
        stream_lock.release()
        raise
    return second


def _identity(files: RunFiles, place: Place, notices: Notices) -> tuple[Row, bool]:
    """Return what ``run.json`` holds, which the first process of a run writes, and whether it is there.

    On a full disk it is not: the run goes on in memory, and `Upkeep` writes it later.

    One that holds nothing that can be read (a power cut leaves it empty) is replaced: the run would
    be another one to every process that opens it.
    """
    born = {
        "id": str(uuid.uuid4()),
        "created": time.time(),
        "project": place.project,
        "name": place.name,
    }
    try:
        identity = write_once(files.identity, born)
        is_damaged = identity is None
        identity = mend(files.identity, born) if identity is None else identity
    except OSError as error:
        if is_from_signal(error) or error.errno not in NO_ROOM:
            raise
        return born, False
    if is_damaged:
        notices.count("degraded", "damaged run.json files", subject="other")
        notices.say(
            f"{files.identity} was no JSON object: the run has a new id, {identity.get('id')}, and "
            "what follows runs by their ids takes it for another one. What stood there, if anything, "
            f"is in {damaged_of(files.identity).name}."
        )
    return identity, True


def _was_killed(writer: LineWriter) -> bool:
    return not writer.index.attempts[-1].is_final


def _continue_from(stream: OpenStream) -> None:
    index, resume_step = stream.writer.index, stream.options.resume_step
    stream.recorder.continue_from(
        highest=index.attempt_max_step,
        newest=index.last_step if resume_step is None else resume_step - 1,
        rows=index.rows,
    )


def _take_lock(place: Place, key: StreamKey, notices: Notices) -> tuple[RunFiles, StreamLock]:
    wanted = key
    if_in_use = stream_in_use_from_environment()
    for number in range(2, _SIBLINGS_MAX + 2):
        files = RunFiles(place.directory, key)
        try:
            lock = _begin(files)
        except StreamInUseError:
            if if_in_use == "refuse" or number > _SIBLINGS_MAX:
                raise
            key = StreamKey(f"{stream_label(wanted.stream)}-{number}", key.rank)
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


def _begin(files: RunFiles) -> StreamLock:
    """Take the lock of a stream that may have that name.

    Raises:
        StreamInUseError: another live writer has it.
        NameRefusedError: it meets another stream's name on file systems that ignore case.
        OSError: the lock file cannot be made.
    """
    lock = StreamLock(files.lock)
    if files.key.stream is None:
        lock.acquire(files.key.label)
        return lock
    # Together: of two that begin at one instant, one sees the other.
    with beginning_in(files.directory):
        check_case(files.directory, files.key)
        lock.acquire(files.key.label)
    return lock


def _begin_attempt(
    files: RunFiles, writer: LineWriter, options: Options, *, clock: Clock, notices: Notices
) -> int:
    """Commit the journal, mark the attempt, and return its number."""
    index = writer.index
    clock_back = 0.0
    if index.last_time is not None:
        clock_back = clock.hold(index.last_time)
        if clock_back:
            notices.say(
                f"The clock is {clock_back:.0f} s behind the newest row of {files.metrics}: it was "
                "wrong then or is wrong now. Rows carry the time that it shows, and the attempt "
                "says so."
            )
    journal = read_journal(files.journal, index.size)
    if journal is not None:
        writer.append_row(journal, journal["_step"])
    clear_journal(files.journal)
    if index.lines == 0:
        if options.resume_step is not None:
            index.attempt_max_step = options.resume_step - 1
        return 1
    number = index.attempts[-1].number + 1
    _mark_attempt(writer, number, options.resume_step, clock=clock, clock_back=clock_back)
    return number


def _mark_attempt(
    writer: LineWriter,
    number: int,
    from_step: int | None,
    *,
    clock: Clock,
    clock_back: float = 0.0,
) -> None:
    """Append the marker of a new attempt; the writer's lock is held."""
    marker = begin_marker(
        number, from_step, time=clock.wall(), pid=os.getpid(), clock_back=clock_back
    )
    writer.append_line(encode_line(marker), marker=marker)


def mark_rewind(writer: LineWriter, number: int, from_step: int, *, clock: Clock) -> None:
    """Append the end of the attempt before ``number``, and the marker of ``number`` itself.

    The writer's lock is held.
    """
    writer.reopen_if_closed()
    end = end_marker(number - 1, REWOUND, time=clock.wall())
    writer.append_line(encode_line(end), marker=end)
    _mark_attempt(writer, number, from_step, clock=clock)
