"""Reading a line file: whole lines only, of the moment the file was opened.

`LineFile` presents the set-aside parts and the live file as one sequence of bytes, so an offset
means the same before and after a rotation. It never changes the file, takes no lock and works while
another process appends.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from expr_tracker.store.files import parts_of
from expr_tracker.store.joined import joined_objects
from expr_tracker.store.lines import decode_line
from expr_tracker.store.regular import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from expr_tracker.row import Row

__all__ = ["LineFile", "part_paths", "whole_lines", "whole_rows"]

#: Large enough that the calls cost nothing beside the decoding, small enough to stay in cache.
_CHUNK_BYTES: Final = 1 << 20
#: A page of rows is usually within this distance of the end.
_TAIL_BYTES: Final = 1 << 14
#: A rotation under way is over at the second look; file systems without inode numbers never are.
_LOOKS_MAX: Final = 10
_OUR_PART: Final = re.compile(r"\d{6}\.jsonl")
_FOLLOWING_PART: Final = re.compile(r"\d{8}\.jsonl")


def part_paths(path: Path) -> tuple[list[Path], list[Path]]:
    """Return the parts before and after the live file at ``path``, in order.

    Ours (six digits) were set aside and come first. Older programs kept the first part under the
    plain name and continued in parts of eight digits, which come after it.
    """
    try:
        names = sorted(os.listdir(parts_of(path)))  # noqa: PTH208 - half the time of a Path each
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    folder = parts_of(path)
    before = [folder / name for name in names if _OUR_PART.fullmatch(name)]
    after = [folder / name for name in names if _FOLLOWING_PART.fullmatch(name)]
    return before, after


@dataclass(frozen=True)
class _Segment:
    fd: int
    start: int
    size: int
    inode: int


class LineFile:
    """A snapshot of one line file; offsets count bytes over all its parts.

    Attributes:
        size: where the last whole line ends, in bytes.
        torn_bytes: bytes behind it that are no whole line.

    Raises:
        FileNotFoundError: there is neither a file nor a part of it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._segments = _open_segments(path)
        try:
            last = self._segments[-1]
            end = last.start + last.size
            self.size = self._whole(last.start, end)
            self.torn_bytes = end - self.size
        except BaseException:  # a disk that fails: nobody has the object yet that could be closed
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptors; a second call does nothing."""
        segments, self._segments = self._segments, []
        for segment in segments:
            os.close(segment.fd)

    @property
    def live_start(self) -> int:
        """The offset at which the live file begins (0 without parts)."""
        return self._segments[-1].start

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes from ``start`` to ``stop``; fewer where the file was cut meanwhile."""
        pieces = []
        for segment in self._segments:
            low = max(start, segment.start)
            high = min(stop, segment.start + segment.size)
            if low < high:
                pieces.append(_read_fully(segment.fd, low - segment.start, high - low))
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield ``(offset, bytes)`` pieces that each hold whole lines only.

        Args:
            start: where a line begins.
            stop: where a line ends, or did before its end was damaged; by default the end of the
                snapshot.
        """
        stop = self.size if stop is None else min(stop, self.size)
        size = _CHUNK_BYTES
        while start < stop:
            piece = self.read(start, min(start + size, stop))
            end = piece.rfind(b"\n") + 1
            if start + len(piece) == stop:
                end = len(piece)
            if end == 0:
                if start + len(piece) >= stop or len(piece) < size:
                    return
                size *= 2  # one line longer than the piece
                continue
            size = _CHUNK_BYTES
            yield start, piece[:end]
            start += end

    def lines(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Yield the lines from ``start`` to ``stop`` without their ends, empty ones left out."""
        for _, chunk in self.chunks(start, stop):
            for line in chunk.split(b"\n"):
                if line:
                    yield line

    def lines_backward(self, stop: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield ``(offset, line)`` from the line that ends at ``stop`` back to the first."""
        end = self.size if stop is None else min(stop, self.size)
        size = _TAIL_BYTES
        while end > 0:
            start = max(0, end - size)
            piece = self.read(start, end)
            if start > 0:
                first = piece.find(b"\n") + 1
                if first in (0, len(piece)):
                    size *= 2  # one line longer than the piece
                    continue
                piece = piece[first:]
                start += first
            piece = piece[: piece.rfind(b"\n") + 1]  # shorter where the file was cut meanwhile
            at = start + len(piece)
            for line in reversed(piece[:-1].split(b"\n") if piece else []):
                at -= len(line) + 1
                if line:
                    yield at, line
            end = start
            size = min(size * 4, _CHUNK_BYTES)

    def _whole(self, low: int, end: int) -> int:
        """Return where the last whole line before ``end`` ends, looking back as far as ``low``."""
        stop = end
        while stop > low:
            start = max(low, stop - _TAIL_BYTES)
            newline = self.read(start, stop).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            stop = start
        return low


def whole_lines(path: Path) -> Iterator[bytes]:
    """Yield every whole line of the file at ``path`` and its parts, without their ends.

    Raises:
        FileNotFoundError: there is neither a file nor a part of it.
    """
    with LineFile(path) as file:
        yield from file.lines()


def whole_rows(path: Path) -> Iterator[Row]:
    """Yield the decoded objects of a line file, markers included; unreadable lines are left out."""
    for line in whole_lines(path):
        text = line.lstrip(b"\0")
        row = decode_line(text)
        if row is not None:
            yield row
        else:
            yield from joined_objects(text)


def _open_segments(path: Path) -> list[_Segment]:
    for _ in range(_LOOKS_MAX):
        segments = _look(path)
        if len({segment.inode for segment in segments}) == len(segments):
            break
        # The live file was set aside between the two looks: look again.
        for segment in segments:
            os.close(segment.fd)
    else:
        segments = _look(path)
    return segments


def _look(path: Path) -> list[_Segment]:
    live = _open(path)
    lives = [] if live is None else [live]
    opened = lives[:]
    try:
        before, after = part_paths(path)
        ordered = _open_parts(before, opened) + lives + _open_parts(after, opened)
        segments = []
        start = 0
        for fd in ordered:
            status = os.fstat(fd)
            segments.append(_Segment(fd, start, status.st_size, status.st_ino))
            start += status.st_size
        if not segments:
            raise FileNotFoundError(f"There is no file {path}.")  # noqa: TRY301 - nothing is open
    except BaseException:
        for fd in opened:
            os.close(fd)
        raise
    return segments


def _open_parts(parts: list[Path], opened: list[int]) -> list[int]:
    """Open ``parts``; ``opened`` holds every descriptor also when one of them cannot be opened."""
    count = len(opened)
    for part in parts:
        fd = _open(part)
        if fd is not None:
            opened.append(fd)
    return opened[count:]


def _open(path: Path) -> int | None:
    try:
        return open_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _read_fully(fd: int, offset: int, size: int) -> bytes:
    piece = os.pread(fd, size, offset)
    if len(piece) == size:
        return piece
    pieces = [piece]
    got = len(piece)
    while piece and got < size:
        piece = os.pread(fd, size - got, offset + got)
        pieces.append(piece)
        got += len(piece)
    return b"".join(pieces)
