"""The set-aside parts of a line file: what is known of each, and which of them are gone.

A part never changes once it was set aside, so its number and size are facts. The writer keeps them
with the index (`expr_tracker.store.index.StreamIndex.parts`), and the sidecar holds them for every reader. What a sidecar
says of a part is believed; what it does not say is no proof, for it may be older than the parts:
those it does not name are told by a gap in their numbers only. Numbers begin at 1 and are given
once, also where the last part is gone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from expr_tracker.notices import counted
from expr_tracker.store.files import parts_of
from expr_tracker.store.reader import part_paths

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = [
    "PART_NUMBER_MAX",
    "LostPart",
    "Part",
    "lost_parts",
    "lost_parts_text",
    "next_number",
    "part_name",
    "parts_as_found",
    "parts_beside",
    "size_of_parts",
]

#: The names of parts have six digits; older programs' had eight.
PART_NUMBER_MAX: Final = 999_999
#: More names in one sentence help nobody; the count is exact.
_NAMES_SHOWN: Final = 10


@dataclass(frozen=True)
class Part:
    """One part, as it was when it was set aside."""

    number: int
    size: int
    """Its bytes then."""
    covered: int
    """Its bytes that the index covers: fewer where it was gone or cut before."""
    lines: int | None = None
    """Its lines; ``None`` where nobody counted them."""
    rows: int | None = None
    """Its metric rows."""
    low: int | None = None
    """No step in it is below; neighbours may begin higher."""
    high: int | None = None
    """No step in it is above."""


@dataclass(frozen=True)
class LostPart:
    """What is gone of one part, or of the live file (of which no rows are known)."""

    name: str
    """``000002.jsonl``."""
    lost: int | None
    """How many bytes are gone; ``None`` where its size is not known."""
    left: int | None
    """How many bytes are left; ``None``: the file is missing."""
    part: Part | None = None
    """What is known of it."""
    count: int = 1
    """How many parts this stands for: a long gap in the numbers is one loss."""

    def __str__(self) -> str:
        """Return one clause that names the file and what went with it."""
        part = self.part
        if self.count > 1:
            return f"{self.name} are missing, with an unknown number of rows"
        if self.left is not None:
            text = f"{self.name} is cut: {self.lost} of its {self.left + (self.lost or 0)} bytes"
            return f"{text} are gone{_of(part, 'it had')}"
        if part is not None and (part.rows or part.lines) is not None:
            return f"{self.name} is missing{_of(part, 'with it')}"
        if self.lost is not None:
            return f"{self.name} is missing, {counted(self.lost, 'byte')}"
        return f"{self.name} is missing, with an unknown number of rows"


def _of(part: Part | None, verb: str) -> str:
    if part is None or (part.rows or part.lines) is None:
        return ""
    lines = counted(part.lines or 0, "line")
    text = counted(part.rows, "row") if part.rows else lines
    if part.low is not None and part.high is not None and part.rows:
        text += f" of steps within {part.low} to {part.high}"
    return f", {verb} {text}"


def parts_beside(path: Path, known: Sequence[Part]) -> list[Part]:
    """Return the parts that are there and not among the known ones."""
    numbers = {part.number for part in known}
    before, _ = part_paths(path)
    new = [part for part in before if int(part.stem) not in numbers]
    return [Part(int(part.stem), size, size) for part in new for size in [_size_of(part) or 0]]


def lost_parts_text(lost: Sequence[LostPart]) -> str:
    """Return what is gone, in one sentence's part; the first ten files by name."""
    shown = "; ".join(map(str, lost[:_NAMES_SHOWN]))
    more = sum(each.count for each in lost[_NAMES_SHOWN:])
    return shown + (f"; and {counted(more, 'more part')}" if more > 0 else "")


def part_name(number: int) -> str:
    """Return the file name of a part: ``000001.jsonl``."""
    return f"{number:06}.jsonl"


def next_number(path: Path, known: Sequence[Part]) -> int:
    """Return the number of the next part: of those that are gone none is given again."""
    before, _ = part_paths(path)
    highest = max((part.number for part in known), default=0)
    return max(highest, int(before[-1].stem) if before else 0) + 1


def size_of_parts(path: Path) -> int:
    """Return the bytes of all parts that are there."""
    before, _ = part_paths(path)
    return sum(_size_of(part) or 0 for part in before)


def parts_as_found(path: Path, known: Sequence[Part]) -> list[Part]:
    """Return the parts of ``path`` as a reading of today covers them: the known and the new ones."""
    found = {part.number: part for part in [*known, *parts_beside(path, known)]}
    before, _ = part_paths(path)
    sizes = {int(part.stem): _size_of(part) or 0 for part in before}
    return [
        replace(found[number], covered=sizes.get(number, 0))
        if found[number].covered != sizes.get(number, 0)
        else found[number]
        for number in sorted(found)
    ]


def lost_parts(path: Path, known: Sequence[Part], *, live_size: int = 0) -> list[LostPart]:
    """Return the parts that are missing or cut, in order.

    Asked of the files themselves and at once: a part that is there is no lost one, however old
    what is known may be. An old reading of a file that is written meanwhile reports nothing.

    Args:
        path: the line file.
        known: what its sidecar or its writer says of the parts.
        live_size: how many bytes of the live file there were.
    """
    live = _size_of(path)  # before the parts: once it is set aside, it is among them
    before, after = part_paths(path)
    numbers = {int(part.stem) for part in before}
    said = {part.number: part for part in known}
    lost, previous = [], 0
    for number in sorted(numbers | said.keys()):
        lost += _gap(path, previous, number, digits=6)
        previous = number
        if number in said and (each := _lost(path, said[number])) is not None:
            lost.append(each)
    previous = 0
    for part in after:
        lost += _gap(path, previous, previous := int(part.stem), digits=8)
    is_newer = bool(numbers) and max(numbers) > max(said, default=0)
    if said and not is_newer and live is None and live_size > 0:
        lost.append(LostPart(path.name, live_size, None))
    return lost


def _gap(path: Path, previous: int, number: int, *, digits: int) -> list[LostPart]:
    """Return what is missing between two parts of which nothing else tells.

    One stray file with a high number makes a gap of any length, which is one loss then.
    """
    names = [f"{each:0{digits}}.jsonl" for each in (previous + 1, number - 1)]
    count = number - previous - 1
    if count > _NAMES_SHOWN:
        return [LostPart(" to ".join(names), None, None, count=count)]
    return [
        LostPart(name, None, None)
        for each in range(previous + 1, number)
        for name in [f"{each:0{digits}}.jsonl"]
        if _size_of(parts_of(path) / name) is None
    ]


def _lost(path: Path, part: Part) -> LostPart | None:
    name = part_name(part.number)
    size = _size_of(parts_of(path) / name)
    if size is None:
        return LostPart(name, part.size, None, part)
    return LostPart(name, part.size - size, size, part) if size < part.size else None


def _size_of(path: Path) -> int | None:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - half the time of a Path's own
    except (FileNotFoundError, NotADirectoryError):
        return None
