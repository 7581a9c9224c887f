r"""The rescue file: the lines that a file never took, kept in the temporary folder.

Its name and its first line say where the lines belong::

    expr-tracker-metrics.data.rank1-k3x9q2ab.jsonl
    {"_rescued": {"file": PATH, "size": BYTES, "attempt": N, "began": SECONDS, "pid": PID}}

``file`` is the line file that did not take them, ``size`` what it held by then, ``attempt`` the one that
the first of them continues. That number rises where another rescue file is put back in front of it;
``began`` and ``pid`` stay, the time and the process of its marker. Both are null for a first attempt,
which has no marker. Behind that stand the lines as they would have been written. Older versions wrote no
``began`` and ``pid``, or no such first line: the name tells, or the lines do.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from expr_tracker.interruption import is_from_signal
from expr_tracker.store.files import LineKind, StreamKey
from expr_tracker.store.lines import decode_line, encode_exact_line
from expr_tracker.store.markers import Beginning, End, is_marker, read_marker
from expr_tracker.store.regular import read_regular
from expr_tracker.store.seconds import seconds_in

if TYPE_CHECKING:
    from expr_tracker.row import Row
    from expr_tracker.store.index import Attempt

__all__ = [
    "RescueFile",
    "is_rescue_name",
    "read_rescue_file",
    "rescue_command",
    "time_of",
    "write_rescue_file",
]

_KINDS: Final[tuple[LineKind, ...]] = get_args(LineKind)
_PREFIX: Final = "expr-tracker-"
#: `tempfile` puts eight characters behind the last hyphen; streams may have hyphens themselves.
_NAME: Final = re.compile(rf"{_PREFIX}(?P<stem>.+)-[^-]+\.jsonl")


def write_rescue_file(
    path: Path, lines: list[bytes], *, attempt: Attempt | None, size: int
) -> tuple[str, int, OSError | None]:
    """Write lines that ``path`` does not take into the temporary folder.

    Args:
        path: the file they belong to.
        lines: the lines, their ends included.
        attempt: the attempt that the first of them continues; ``None`` for lines that are of none.
        size: what ``path`` holds, in bytes over all its parts.

    Returns:
        The file's name, how many of the lines it took, from the first, and why not all.

    Raises:
        OSError: the temporary folder does not take any of them either.
    """
    said: Row = {"file": str(path.absolute()), "size": size, "attempt": None}
    if attempt is not None:
        said |= {"attempt": attempt.number, "began": attempt.time, "pid": attempt.pid}
    first = {"_rescued": said}
    fd, name = tempfile.mkstemp(prefix=f"{_PREFIX}{path.stem}-", suffix=".jsonl")
    try:
        count, failure = _write_lines(fd, [encode_exact_line(first), *lines])
    finally:
        os.close(fd)
    if failure is not None and count <= 1:
        os.unlink(name)  # noqa: PTH108 - a text from `tempfile`
        raise failure
    return name, count - 1, failure


def _write_lines(fd: int, lines: list[bytes]) -> tuple[int, OSError | None]:
    """Write lines to an empty file; return how many it has taken whole, and why not all."""
    failure = None
    try:
        view = memoryview(b"".join(lines))
        while view:
            view = view[os.write(fd, view) :]
    except OSError as error:
        if is_from_signal(error):
            raise
        failure = error
    room, count = os.fstat(fd).st_size, 0
    for line in lines:
        if len(line) > room:
            os.ftruncate(fd, os.fstat(fd).st_size - room)
            break
        room -= len(line)
        count += 1
    return count, failure


def rescue_command(name: str, directory: Path) -> str:
    """Return the command that puts the lines of a rescue file back, ready to paste.

    Args:
        name: the rescue file.
        directory: the run's directory.
    """
    return f"et rescue {_shell_word(name)} {_shell_word(str(directory))}"


def _shell_word(text: str) -> str:
    """Return a word that a shell reads as ``text``, also where it has bytes that are no text."""
    if text.isprintable():
        return shlex.quote(text)
    # bash, zsh and, since 2024, POSIX: https://pubs.opengroup.org/onlinepubs/9799919799/
    return f"$'{''.join(map(_in_dollar_quotes, text))}'"


def _in_dollar_quotes(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))


@dataclass
class RescueFile:
    """A rescue file as it was read."""

    path: Path
    origin: Path | None = None
    """The file that its lines were written for, where the first line says so."""
    attempt: int | None = None
    """The attempt that its first line continues, where that is said."""
    says_beginning: bool = False
    """Whether the first line says how that attempt began; older versions did not."""
    began: float | None = None
    """The time of that attempt's marker; ``None`` where it is a first one, without a marker."""
    pid: int | None = None
    """The process of that marker."""
    size: int | None = None
    """How much that file held by then, where that is said."""
    kind: LineKind | None = None
    """What its lines are, by its first line, its name or themselves; ``None``: no line is any."""
    key: StreamKey | None = None
    """Whose they are, by its first line or its name."""
    lines: list[bytes] = field(default_factory=list)
    """The whole lines, their ends included."""
    markers: list[Beginning | End] = field(default_factory=list)
    """What those of them say that are markers."""
    first_time: float | None = None
    """The time of the first line that has one (Unix seconds)."""
    last_time: float | None = None
    """The time of the last one."""
    damaged: list[int] = field(default_factory=list)
    """The 1-based numbers of the lines that are not whole, or of no such kind."""

    def take(self, line: bytes, row: Row) -> bool:
        """Take in the next line; say whether it is of the file's kind."""
        if self.kind is None:
            self.kind = _kind_of(row)
        if self.kind is None or not _is_of(self.kind, row):
            return False
        self.lines.append(line)
        marker = read_marker(row) if self.kind == "metrics" and "_step" not in row else None
        if marker is not None:
            self.markers.append(marker)
        time = time_of(row)
        if time is not None:
            self.first_time = time if self.first_time is None else self.first_time
            self.last_time = time
        return True


def read_rescue_file(path: Path) -> RescueFile:
    """Read a rescue file: its lines as far as they are whole, and whose they are.

    Raises:
        OSError: there is no such file, or it cannot be read.
    """
    rescued = RescueFile(path)
    rescued.kind, rescued.key = _named(_name_within(path.name))
    for number, line in enumerate(read_regular(path).split(b"\n"), 1):
        content = line.strip(b"\0")  # what a power loss leaves
        row = decode_line(content) if content else None
        if number == 1 and row is not None and isinstance(row.get("_rescued"), dict):
            _take_first_line(rescued, row["_rescued"])
        elif line and (row is None or not rescued.take(content + b"\n", row)):
            rescued.damaged.append(number)
    return rescued


def _take_first_line(rescued: RescueFile, said: Row) -> None:
    file = said.get("file")
    if isinstance(file, str):
        rescued.origin = Path(file)
        rescued.kind, rescued.key = _named(rescued.origin.name)
    rescued.attempt, rescued.size = _count(said.get("attempt")), _count(said.get("size"))
    began = said.get("began")
    if "began" in said and (began is None or isinstance(began, (int, float))):
        rescued.says_beginning = True
        rescued.began, rescued.pid = began, _count(said.get("pid"))


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def is_rescue_name(name: str) -> bool:
    """Say whether a file in the temporary folder is a rescue file by its name."""
    return _named(_name_within(name)) != (None, None)


def _name_within(name: str) -> str:
    """Return the name of the file that a rescue file is of, by its own; empty for a foreign one."""
    match = _NAME.fullmatch(name)
    return "" if match is None else match["stem"] + ".jsonl"


def _named(name: str) -> tuple[LineKind | None, StreamKey | None]:
    for kind in _KINDS:
        key = StreamKey.from_file(name, kind)
        if key is not None:
            return kind, key
    return None, None


def _kind_of(row: Row) -> LineKind | None:
    """Return what a line is; one that could be a span is one, though any name may be a metric's."""
    if {"depth", "track"} <= row.keys() and _is_of("spans", row):
        return "spans"
    return next((kind for kind in ("metrics", "console") if _is_of(kind, row)), None)


def _is_of(kind: LineKind, row: Row) -> bool:
    if kind == "metrics":
        return isinstance(row.get("_step"), int) or is_marker(row)
    if kind == "spans":
        return {"name", "start", "dur_ms"} <= row.keys()
    return {"source", "text"} <= row.keys()


def time_of(row: Row) -> float | None:
    """Return when a line was written, in Unix seconds; of a span that is its end."""
    if row.get("_time") is None and {"start", "dur_ms"} <= row.keys():
        start, duration = seconds_in(row["start"]), seconds_in(row["dur_ms"])
        if start is not None and duration is not None:
            return seconds_in(start + duration / 1000)
    return seconds_in(row.get("_time"))
