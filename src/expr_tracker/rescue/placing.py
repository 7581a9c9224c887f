"""Where rescued lines belong in their file, and how much of them is there already.

Rows belong behind those of the attempt that they continue: where the run was resumed meanwhile, in
front of that resume's marker, for of two rows of one step the later one counts. Spans and lines of the
console are of no attempt and lie in the order of their times.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from expr_tracker.errors import RescueError
from expr_tracker.store.lines import decode_line
from expr_tracker.store.markers import Beginning, End, begin_marker
from expr_tracker.store.rescue_file import time_of
from expr_tracker.store.sidecar import load_index, read_sidecar

if TYPE_CHECKING:
    from expr_tracker.row import Row
    from expr_tracker.store.index import Attempt
    from expr_tracker.store.reader import LineFile
    from expr_tracker.store.rescue_file import RescueFile

__all__ = ["Placement", "place"]


@dataclass(frozen=True)
class Placement:
    """What is to be put where."""

    position: int
    """The offset, over all parts of the file, that the lines are put at: a line begins there."""
    lines: list[bytes] = field(default_factory=list)
    """What is not in the file yet."""
    attempt: int | None = None
    """The attempt that the first of the rescued rows continues."""
    shift: int = 0
    """By how much the numbers of the attempts behind the position have to rise."""
    opening: Row | None = None
    """The marker of the attempt behind the lines, where it began in an empty file and has none."""


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
    offset, count = _found(file, rescued.lines)
    if count == len(rescued.lines):
        return Placement(offset)
    # A write that hung when the run ended may have come through later, and put some in its place.
    behind = offset + sum(map(len, rescued.lines[:count]))
    if rescued.kind == "metrics":
        return _in_attempts(rescued, file, behind=behind, count=count)
    if count:
        return Placement(behind, rescued.lines[count:])
    return Placement(_by_time(rescued, file), rescued.lines)


def _found(file: LineFile, lines: list[bytes]) -> tuple[int, int]:
    """Return where in the file most of the lines stand in a row, from the first on, and how many."""
    best = (0, 0)
    first = lines[0]
    block = b"".join(lines)
    for start, chunk in file.chunks():
        at = chunk.find(first)
        while at >= 0:
            if at == 0 or chunk[at - 1 : at] == b"\n":
                count = _equal_lines(file.read(start + at, start + at + len(block)), lines)
                if count > best[1]:
                    best = start + at, count
                if count == len(lines):
                    return best
            at = chunk.find(first, at + 1)
    return best


def _equal_lines(content: bytes, lines: list[bytes]) -> int:
    at = 0
    for count, line in enumerate(lines):
        if not content.startswith(line, at):
            return count
        at += len(line)
    return len(lines)


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


def _in_attempts(rescued: RescueFile, file: LineFile, *, behind: int, count: int) -> Placement:
    """Return where rows belong; ``count`` of them stand in front of offset ``behind``."""
    attempts = load_index(file, read_sidecar(file.path)).attempts
    number = _first_attempt(rescued, attempts)
    ends = {attempt.offset for attempt in attempts[1:]} | {file.size}
    if count and behind in ends:
        position, lines = behind, rescued.lines[count:]
    elif _is_older_than_all(rescued, file, number):
        position, lines = 0, rescued.lines
    else:
        position, lines = _end_of(rescued, file, attempts, number=number), rescued.lines
    if position == file.size:
        return Placement(position, lines, number)
    following = next((each for each in attempts[1:] if each.offset == position), None)
    last = max([number, *(m.number for m in rescued.markers if isinstance(m, Beginning))])
    has_number = attempts[0].number if following is None else following.number
    shift = max(0, last + 1 - has_number)
    opening = None
    if following is None:
        # It began in what was an empty file, as a first attempt does: without a marker.
        opening = begin_marker(has_number + shift, None, time=_first_time(file) or 0.0, pid=None)
    return Placement(position, lines, number, shift, opening)


def _first_attempt(rescued: RescueFile, attempts: list[Attempt]) -> int:
    """Return the number of the attempt that the first of the rescued rows continues."""
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


def _is_older_than_all(rescued: RescueFile, file: LineFile, number: int) -> bool:
    """Say whether the file was empty when the rows did not fit: all that is in it came later."""
    if rescued.size is not None:
        return rescued.size == 0
    first, last = _first_time(file), rescued.last_time
    return number == 1 and first is not None and last is not None and last < first


def _first_time(file: LineFile) -> float | None:
    """Return the time of the first line that has one."""
    times = (time_of(decode_line(line) or {}) for line in file.lines())
    return next((time for time in times if time is not None), None)


def _end_of(rescued: RescueFile, file: LineFile, attempts: list[Attempt], *, number: int) -> int:
    """Return where the lines of an attempt end, which has to be one that did not say how it ended."""
    at = max((i for i, each in enumerate(attempts) if each.number == number), default=None)
    if at is None:
        known = ", ".join(str(each.number) for each in attempts)
        raise RescueError(
            f"{rescued.path} holds rows of attempt {number}, and {file.path} has attempt {known}: "
            "they are of another run."
        )
    if attempts[at].status is not None:
        raise RescueError(
            f"{rescued.path} holds rows that attempt {number} could not write before it ended, and "
            f"in {file.path} that attempt has its end ({attempts[at].status!r}): the rows are of "
            "another run, or were put there in another form."
        )
    return attempts[at + 1].offset if at + 1 < len(attempts) else file.size
