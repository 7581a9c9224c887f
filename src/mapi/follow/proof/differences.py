"""What the files and the platform do not have alike: all counted, the first ones kept."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from expr_tracker.interruption import is_from_signal
from expr_tracker.notices import counted
from mapi.errors import InvalidError, MapiError
from mapi.follow.faults import said
from mapi.follow.instants import was_ahead

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Difference", "Differences", "Kind", "shown_text"]

#: ``missing``: the platform has it not; ``extra``: the files have it not; the others: both have it, with
#: another value, or at another time; ``pruned``: retention deleted it on the platform.
Kind: TypeAlias = Literal["missing", "extra", "value", "time", "pruned"]

#: Of each kind of each thing; a person reads no more, and the counts are exact.
_KEPT_OF_KIND: Final = 20
_TEXT_LENGTH_MAX: Final = 200
_MOVED: Final = "at the time of its delivery: the clock that wrote it was more than a day ahead"


@dataclass(frozen=True)
class Difference:
    """One thing that is not alike."""

    what: str
    """``point``, ``line``, ``attempt``, …"""
    kind: Kind
    producer: str
    """Whose it is, as messages name it; empty: the run's."""
    name: str
    """Which of them: the metric, the param, …"""
    step: int | None = None
    attempt: int | None = None
    """Where one attempt alone was looked at."""
    files: str | None = None
    """What the files have; ``None``: nothing."""
    platform: str | None = None
    """What the platform has; ``None``: nothing."""


class Differences:
    """Takes in what was compared, and what of it differs.

    Args:
        since_us: when the platform heard of the run, in microseconds since 1970 UTC.
    """

    def __init__(self, since_us: int = 0) -> None:
        self.since_us = since_us
        self.compared: Counter[str] = Counter()
        """How many things were looked at on either side, by what they are."""
        self.kept: list[Difference] = []
        self.counts: Counter[tuple[str, Kind]] = Counter()
        self.notes: Counter[str] = Counter()
        """What is no difference and should be known: ``{} points …`` by their number."""
        self.problems: list[str] = []
        """What could not be compared, and why."""
        self.damaged: Counter[str] = Counter()
        """Lines that hold nothing, by their file's name; those of metrics are told by the files' own check."""

    def __bool__(self) -> bool:
        return bool(self.counts)

    def compare(self, what: str, count: int = 1) -> None:
        """Take in that things were compared, equal or not."""
        self.compared[what] += count

    def add(self, difference: Difference) -> None:
        """Take in a difference."""
        kind = difference.what, difference.kind
        self.counts[kind] += 1
        if self.counts[kind] <= _KEPT_OF_KIND:
            self.kept.append(difference)

    def note(self, what: str, text: str, *, count: int = 1) -> None:
        """Take in what is no difference, and how many there are of it.

        Args:
            what: in the singular: ``point``.
            text: what is with them.
            count: how many.
        """
        if count:
            self.notes[f"{what}\n{text}"] += count

    def is_moved(self, what: str, mine_us: int, theirs_us: int) -> bool:
        """Say whether a time is that of a delivery because the files' one was ahead then, and note it.

        Args:
            what: has the time.
            mine_us: of the files, in microseconds since 1970 UTC.
            theirs_us: of the platform.
        """
        is_moved = was_ahead(mine_us, delivered_us=theirs_us, since_us=self.since_us)
        self.note(what, _MOVED, count=is_moved)
        return is_moved

    @contextlib.contextmanager
    def part(self, what: str) -> Iterator[None]:
        """Compare a part of the run: what is wrong with it costs the other parts nothing.

        A server that does not answer, or answers that there is no such run, ends the whole comparison.

        Args:
            what: which files it is of, as a message names them.
        """
        try:
            yield
        except Exception as error:
            is_of_part = isinstance(error, InvalidError) or not isinstance(error, MapiError)
            if is_from_signal(error) or not is_of_part:
                raise
            self.problems.append(f"{what}: not compared: {said(error)}")

    def damage(self) -> Iterator[str]:
        """Yield what is said of lines that hold nothing."""
        for name, count in self.damaged.items():
            if count:
                yield f"{name}: {counted(count, 'damaged line')} left out"

    def sentences(self) -> Iterator[str]:
        """Yield the notes with their numbers."""
        for note, count in self.notes.items():
            what, _, text = note.partition("\n")
            yield f"{counted(count, what)} {text}" if what else text


def shown_text(value: object) -> str:
    """Return what a table says of a value: its beginning, where it is long."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _TEXT_LENGTH_MAX else f"{text[:_TEXT_LENGTH_MAX]}…"
