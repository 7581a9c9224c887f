"""Where rescued lines belong in their file, and how much of them is there already.

Rows belong behind those of the attempt that they continue: where the run was resumed meanwhile, in
front of that resume's marker, for of two rows of one step the later one counts. Rows of whole attempts
that found no room for a marker either lie behind the attempts that began before theirs. Spans and lines
of the console are of no attempt and lie in the order of their times.

Numbers of attempts rise where attempts come in between. Each rises as little as it can, so a gap that a
call left which was killed half-way is filled by the next one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import RescueError
from expr_tracker.store.lines import decode_line, encode_line
from expr_tracker.store.markers import (
    Beginning,
    End,
    begin_marker,
    is_marker,
    number_of,
    read_marker,
    renumbered,
)
from expr_tracker.store.rescue_file import time_of
from expr_tracker.store.sidecar import load_index, read_sidecar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from expr_tracker.row import Row
    from expr_tracker.store.index import Attempt
    from expr_tracker.store.reader import LineFile
    from expr_tracker.store.rescue_file import RescueFile

__all__ = ["Placement", "place", "with_numbers"]

#: What every marker has in it, and hardly another line.
_MARKER_SIGN: Final = b'"_attempt'
#: By how much a marker's line may become longer with another number.
_DIGITS_MAX: Final = 20


@dataclass(frozen=True)
class Placement:
    """What is to be put where."""

    position: int
    """The offset, over all parts of the file, that the lines are put at: a line begins there."""
    lines: list[bytes] = field(default_factory=list)
    """What is not in the file yet, its attempts numbered as they will be."""
    attempt: int | None = None
    """The attempt that the first of the rescued rows continues."""
    numbers: dict[int, int] = field(default_factory=dict)
    """The new numbers of those attempts behind the position whose number has to rise."""
    heading: Row | None = None
    """The marker in front of the lines, where their attempt began in an empty file and is no first one."""
    opening: Row | None = None
    """The marker of the attempt behind the lines, where it began in an empty file and has none."""


@dataclass(frozen=True)
class _Found:
    """Where rescued lines stand in the file already."""

    start: int = 0
    stop: int = 0
    count: int = 0
    """How many of them, from the first on."""


def place(rescued: RescueFile, file: LineFile | None) -> Placement:
    """Return where the lines of a rescue file belong; no line of it is put in twice.

    Args:
        rescued: the rescue file.
        file: the file that they are of; ``None`` where it is gone.

    Raises:
        RescueError: they cannot be of this file.
    """
    if file is None:
        return Placement(0, rescued.lines, _first_attempt(rescued, []))
    found = _found(file, rescued.lines)
    if found.count == len(rescued.lines):
        return Placement(found.start)
    # A write that hung when the run ended may have come through later, and put some in its place.
    if rescued.kind == "metrics":
        return _in_attempts(rescued, file, found)
    if found.count:
        return Placement(found.stop, rescued.lines[found.count :])
    return Placement(_by_time(rescued, file), rescued.lines)


def with_numbers(line: bytes, numbers: Mapping[int, int]) -> bytes:
    """Return a line; a marker of an attempt that is among ``numbers`` has its new number."""
    marker = _marker_in(line)
    number = None if marker is None else numbers.get(number_of(marker))
    return line if marker is None or number is None else encode_line(renumbered(marker, number))


def _marker_in(line: bytes) -> Row | None:
    row = decode_line(line) if _MARKER_SIGN in line else None
    return row if row is not None and is_marker(row) else None


def _found(file: LineFile, lines: list[bytes]) -> _Found:
    """Return where in the file most of the lines stand in a row, from the first on."""
    best = _Found()
    wanted = [_without_number(line) for line in lines]
    room = sum(map(len, lines)) + _DIGITS_MAX * sum(_MARKER_SIGN in line for line in lines)
    for start in _starts(file, lines[0]):
        if not _equal_lines(
            file.read(start, start + len(lines[0]) + _DIGITS_MAX), wanted[:1]
        ).count:
            continue
        found = _equal_lines(file.read(start, start + room), wanted)
        if found.count > best.count:
            best = replace(found, start=start, stop=start + found.stop)
        if best.count == len(lines):
            break
    return best


def _starts(file: LineFile, line: bytes) -> Iterator[int]:
    """Yield where lines begin that may be ``line``; its number may have risen, if it is a marker."""
    sign = line if _marker_in(line) is None else _MARKER_SIGN
    for start, chunk in file.chunks():
        at = chunk.find(sign)
        while at >= 0:
            begin = chunk.rfind(b"\n", 0, at) + 1
            if begin == at or sign is not line:
                yield start + begin
            at = chunk.find(sign, at + 1)


def _equal_lines(content: bytes, wanted: list[bytes]) -> _Found:
    at = 0
    for count, line in enumerate(wanted):
        stop = content.find(b"\n", at) + 1
        if not stop or _without_number(content[at:stop]) != line:
            return _Found(0, at, count)
        at = stop
    return _Found(0, at, len(wanted))


def _without_number(line: bytes) -> bytes:
    """Return what a line says whatever number its attempt has, if it is a marker."""
    marker = _marker_in(line)
    return line if marker is None else encode_line(renumbered(marker, 0))


def _by_time(rescued: RescueFile, file: LineFile) -> int:
    """Return where the last line ends that is not newer than the first rescued one."""
    if rescued.first_time is None:
        return file.size
    has_times = False
    for at, line in file.lines_backward():
        time = time_of(decode_line(line) or {})
        if time is not None and time <= rescued.first_time:
            return at + len(line) + 1
        has_times = has_times or time is not None
    return 0 if has_times else file.size


def _in_attempts(rescued: RescueFile, file: LineFile, found: _Found) -> Placement:
    """Return where rows belong of which ``found`` says what is in the file."""
    attempts, has_first_marker = _attempts_of(file)
    lines = rescued.lines
    first = _first_attempt(rescued, attempts)
    ends = {attempt.offset for attempt in attempts[1:]} | {file.size}
    said, is_headless = first, False
    if found.count and found.stop in ends:
        at = max(i for i, each in enumerate(attempts) if each.offset < found.stop)
        lines, said = lines[found.count :], _last_number(lines[: found.count], first)
    elif (begun := _first_beginning(rescued)) is not None:
        at = _before(attempts, _continued(rescued, file, attempts, number=first), begun.time)
    elif _began_in_empty_file(rescued, attempts, first):
        at, said = _before(attempts, -1, rescued.first_time), first - 1
        is_headless = at >= 0
    else:
        at = _continued(rescued, file, attempts, number=first)
        _refuse_if_ended(rescued, file, attempts[at], number=first)
    number = attempts[at].number if at >= 0 else 0
    shift = max(0, number - said)
    heading = None
    if is_headless:
        heading = begin_marker(first + shift, None, time=rescued.first_time or 0.0, pid=None)
    lines = [_shifted(line, shift) for line in lines]
    position = attempts[at + 1].offset if at + 1 < len(attempts) else file.size
    placement = Placement(position, lines, first + shift, heading=heading)
    if position == file.size:
        return placement
    last = max(first + shift, _last_number(lines, number))
    numbers = _risen(attempts[at + 1 :], last)
    opening = None
    if at < 0 and not has_first_marker:
        # It began in what was an empty file, as a first attempt does: without a marker.
        behind = attempts[0]
        opened = numbers.get(behind.number, behind.number)
        opening = begin_marker(opened, None, time=behind.time or 0.0, pid=None)
    return replace(placement, numbers=numbers, opening=opening)


def _attempts_of(file: LineFile) -> tuple[list[Attempt], bool]:
    """Return the attempts that have lines, and whether the first of them has a marker.

    One without a marker began with its first row.
    """
    attempts = load_index(file, read_sidecar(file.path)).attempts
    if len(attempts) > 1 and attempts[1].offset == 0:
        return attempts[1:], True
    return [replace(attempts[0], time=_first_time(file)), *attempts[1:]], False


def _first_attempt(rescued: RescueFile, attempts: list[Attempt]) -> int:
    """Return the number that the attempt had which the first of the rescued rows continues."""
    if rescued.markers:
        first = rescued.markers[0]
        return first.number if isinstance(first, End) else first.number - 1
    if rescued.attempt is not None:
        return rescued.attempt
    number = attempts[0].number if attempts else 1
    for attempt in attempts[1:]:
        if attempt.time is None or rescued.first_time is None:
            raise RescueError(
                f"{rescued.path} does not say which attempt its rows are of, by a marker nor by "
                "their times. Insert them by hand behind those of their attempt."
            )
        if attempt.time <= rescued.first_time:
            number = attempt.number
    return number


def _first_beginning(rescued: RescueFile) -> Beginning | None:
    """Return the marker that the lines begin with, where it is that of a new attempt."""
    row = _marker_in(rescued.lines[0])
    marker = None if row is None else read_marker(row)
    return marker if isinstance(marker, Beginning) else None


def _last_number(lines: list[bytes], number: int) -> int:
    """Return the number of the last marker among lines; ``number`` where there is none."""
    return next((number_of(m) for m in map(_marker_in, reversed(lines)) if m), number)


def _shifted(line: bytes, shift: int) -> bytes:
    marker = _marker_in(line) if shift else None
    return line if marker is None else encode_line(renumbered(marker, number_of(marker) + shift))


def _risen(attempts: list[Attempt], last: int) -> dict[int, int]:
    """Return the new numbers of those attempts whose number has to rise, behind attempt ``last``."""
    numbers = {}
    for attempt in attempts:
        if attempt.number <= last:
            numbers[attempt.number] = last + 1
        last = numbers.get(attempt.number, attempt.number)
    return numbers


def _before(attempts: list[Attempt], at: int, time: float | None) -> int:
    """Return the last in a row of attempts, from ``at`` on, that began at ``time`` at the latest."""
    for i in range(at + 1, len(attempts)):
        began = attempts[i].time
        if time is None or began is None or began > time:
            break
        at = i
    return at


def _began_in_empty_file(rescued: RescueFile, attempts: list[Attempt], number: int) -> bool:
    """Say whether the rows are all of a first attempt: nothing was in the file by then."""
    if rescued.size is not None:
        return rescued.size == 0
    first, last = attempts[0].time, rescued.last_time
    return number == 1 and first is not None and last is not None and last < first


def _first_time(file: LineFile) -> float | None:
    """Return the time of the first line that has one."""
    times = (time_of(decode_line(line) or {}) for line in file.lines())
    return next((time for time in times if time is not None), None)


def _continued(
    rescued: RescueFile, file: LineFile, attempts: list[Attempt], *, number: int
) -> int:
    """Return which attempt the first of the rows continues: by how it began, else by its number.

    Raises:
        RescueError: the file has no such attempt.
    """
    if rescued.says_beginning:
        matches = [i for i, each in enumerate(attempts) if _began_so(rescued, each)]
        if matches:
            return matches[-1]
        if rescued.began is not None:
            raise RescueError(
                f"{rescued.path} holds rows of an attempt that began at {rescued.began} in process "
                f"{rescued.pid}, and {file.path} has no marker of it: they are of another run, or the "
                "marker is damaged. Then insert them by hand."
            )
    numbered = [i for i, each in enumerate(attempts) if each.number == number]
    if numbered and attempts[numbered[-1]].status is None:
        return numbered[-1]
    # Another rescue file may have been put back in front of it, and raised its number.
    running = _before(attempts, -1, rescued.first_time)
    if running >= 0 and attempts[running].status is None and attempts[running].number >= number:
        return running
    if numbered:
        return numbered[-1]
    known = ", ".join(str(each.number) for each in attempts)
    raise RescueError(
        f"{rescued.path} holds rows of attempt {number}, and {file.path} has attempt {known}: "
        "they are of another run."
    )


def _began_so(rescued: RescueFile, attempt: Attempt) -> bool:
    """Say whether an attempt began as that did which the rows continue.

    A first attempt has no marker. It gets one, without a process, where rows are put back in front of
    it. Of several the last is meant, for only then the file was not empty any more.
    """
    if rescued.began is not None:
        return (attempt.time, attempt.pid) == (rescued.began, rescued.pid)
    if attempt.pid is not None or attempt.time is None or rescued.first_time is None:
        return attempt.pid is None
    return attempt.time <= rescued.first_time


def _refuse_if_ended(
    rescued: RescueFile, file: LineFile, attempt: Attempt, *, number: int
) -> None:
    """Refuse rows of an attempt that could write how it ended."""
    if attempt.status is not None:
        raise RescueError(
            f"{rescued.path} holds rows that attempt {number} could not write before it ended, and "
            f"in {file.path} that attempt has its end ({attempt.status!r}): the rows are of "
            "another run, or were put there in another form."
        )
