"""What went wrong without an exception: counted, said once, shown where the user looks.

A tracker must not stop training, so its faults do not raise. Each is counted under its kind, its
first occurrence is logged (logger ``expr_tracker``), and the counts stand in ``info()["loss"]`` and
in the line that ``finish`` writes.

Texts are queued and leave through `Notices.emit`, which callers use after they have let go of their
locks: a logging sink is the user's code and may well log again.
"""

from __future__ import annotations

import difflib
import logging
import os
import threading
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal

from expr_tracker.interruption import is_from_signal

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["OTHERS", "Fate", "Notices", "Subject", "counted", "logger", "offer", "offer_beside"]

logger: Final = logging.getLogger("expr_tracker")

#: ``refused`` at the call; ``dropped`` after it was taken; ``rescued`` is stored, in another file;
#: ``degraded`` is stored, in another form.
Fate = Literal["refused", "dropped", "rescued", "degraded"]

#: What is counted: ``info()`` has a figure for rows and one for spans. Values are those of rows
#: that are stored without them, or that are counted as rows besides.
Subject = Literal["rows", "values", "spans", "other"]

#: Kinds that are counted by name, per run. Some hold a metric's name, which programs make up for
#: ever; a thousand of them is more than anyone reads.
_KINDS_MAX: Final = 1_000
#: The name under which everything beyond a limit is counted together: kinds here, paths of spans.
OTHERS: Final = "(other)"
#: A warning per key must not become a leak when a program makes up new keys for ever.
_KEYS_MAX: Final = 10_000
_QUEUE_MAX: Final = 1_000
#: Names that a message gives to who did not come near any.
_NAMES_OFFERED: Final = 8
#: Entries of a folder that are looked through for what was probably meant.
_ENTRIES_MAX: Final = 1_000


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, which takes an s unless there is one of it."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def offer(name: str, known: Iterable[str]) -> str:
    """Return a sentence that offers the known names nearest to ``name``, or else says what there is."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3)
    if near:
        return f" Did you mean {' or '.join(map(repr, near))}?"
    if not names:
        return ""
    more = f" and {len(names) - _NAMES_OFFERED} more" if len(names) > _NAMES_OFFERED else ""
    return f" There are: {', '.join(names[:_NAMES_OFFERED])}{more}."


def offer_beside(path: Path, *, only_folders: bool = False) -> str:
    """Return what `offer` says of a path where nothing is: of the names in the folder it would be in.

    Where there is no such folder, of the first one on the way that is not there.
    """
    while not path.parent.is_dir() and path.parent != path.parent.parent:
        path = path.parent
    try:
        with os.scandir(path.parent) as entries:
            names = [
                entry.name
                for entry in islice(entries, _ENTRIES_MAX)
                if not entry.name.startswith(".")
                and entry.name.isprintable()
                and (not only_folders or entry.is_dir())
            ]
    except OSError as error:
        if is_from_signal(error):
            raise
        return ""  # what cannot be listed offers nothing
    return offer(path.name, names)


class Notices:
    """The faults of one run."""

    def __init__(self) -> None:
        self._said: set[object] = set()
        self._queue: deque[tuple[int, str]] = deque(maxlen=_QUEUE_MAX)
        self._counts: dict[tuple[Fate, Subject, str], int] = {}
        self._rows_beside = 0
        # Threads count at the same time; re-entrant, for a finaliser may count within a count.
        self._counting = threading.RLock()

    def say(self, text: str, *, level: int = logging.WARNING) -> None:
        """Queue one log line."""
        self._queue.append((level, text))

    def once(self, key: object, text: str, *, level: int = logging.WARNING) -> None:
        """Queue ``text`` unless something was said under ``key`` before."""
        if key in self._said or len(self._said) >= _KEYS_MAX:
            return
        self._said.add(key)
        self._queue.append((level, text))

    def count(self, fate: Fate, kind: str, number: int = 1, *, subject: Subject = "rows") -> None:
        """Add ``number`` rows, values or spans of ``kind`` that met ``fate``.

        Args:
            fate: what happened.
            kind: what is counted, in words for people.
            number: how many.
            subject: which figure of ``info()`` they are part of.
        """
        key = (fate, subject, kind)
        with self._counting:
            if key not in self._counts and len(self._counts) >= _KINDS_MAX:
                key = (fate, subject, OTHERS)
            self._counts[key] = self._counts.get(key, 0) + number

    def count_row_of_values(self) -> None:
        """Add a row to the rows lost whose values are counted by themselves."""
        with self._counting:
            self._rows_beside += 1

    def counts(self, fate: Fate) -> dict[str, int]:
        """Return the counts of one fate by kind."""
        by_kind: dict[str, int] = {}
        for (its_fate, _, kind), number in list(self._counts.items()):
            if its_fate == fate:
                by_kind[kind] = by_kind.get(kind, 0) + number
        return by_kind

    def total(self, subject: Subject, *fates: Fate) -> int:
        """Return how many of ``subject`` met one of ``fates``."""
        counts = list(self._counts.items())
        found = sum(number for (fate, of, _), number in counts if of == subject and fate in fates)
        is_of_rows = subject == "rows" and "dropped" in fates
        return found + (self._rows_beside if is_of_rows else 0)

    @property
    def has_queued(self) -> bool:
        """Whether `emit` has something to say."""
        return bool(self._queue)

    def emit(self) -> None:
        """Log what is queued; call it without holding a lock. A failing sink is not our caller's."""
        while self._queue:
            try:
                level, text = self._queue.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                logger.log(level, "%s", text)
            except Exception as error:  # a broken logging handler must not stop training
                if is_from_signal(error):
                    raise
                self.count("dropped", "log messages", subject="other")
