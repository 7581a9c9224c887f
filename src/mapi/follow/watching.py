"""Runs are followed for as long as somebody watches: files that grow, runs that begin, signs of life."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import TrackerError
from mapi.errors import MapiError
from mapi.follow.directories import find_directories
from mapi.follow.faults import said
from mapi.follow.opened import PushReport

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mapi.follow.pushing import Pusher
    from mapi.sdk.synchronous.client import Client

__all__ = ["LOOK_SECONDS", "Watch"]

#: Between two looks at the folders.
LOOK_SECONDS: Final = 1.0
#: A third of the time after which the platform takes a silent run for lost, and some more.
_BEAT_SECONDS: Final = 15.0
#: A run whose files stay as they are is looked at all the same: its process may be gone.
_QUIET_SECONDS: Final = 5.0

#: What was wrong may be right again: a run that was taken out of the trash, a right that was given.
_PROBLEM_SECONDS: Final = 30.0

#: Of each file in a run directory: its name, size and time of change.
_Look = tuple[tuple[str, int, int], ...]


@dataclass
class _Beat:
    """When the last sign of life of a run was given, on the monotonic clock."""

    run: str
    last: float = -math.inf


class Watch:
    """Delivers what grows below folders until it is ended.

    Args:
        pusher: delivers runs; its patience should be endless.
        client: of the platform.
        roots: folders with runs at or below them, or where some will be.
        tell: hears of each run when there is something to say of it.
    """

    def __init__(
        self,
        pusher: Pusher,
        client: Client,
        roots: Sequence[Path],
        *,
        tell: Callable[[PushReport], object],
    ) -> None:
        self._pusher = pusher
        self._client = client
        self._roots = roots
        self._tell = tell
        self._looks: dict[Path, tuple[_Look, float]] = {}
        self._told: dict[Path, PushReport] = {}
        self._living: dict[Path, _Beat] = {}

    def run(self, pause: Callable[[float], bool], *, every_seconds: float = LOOK_SECONDS) -> None:
        """Look and deliver until ``pause`` says that it is over.

        Raises:
            RejectedError: the server lets nobody in with this token.
            UnreachableError: the server did not answer, and ``pause`` ended the patience.
        """
        while True:
            self.look()
            if pause(every_seconds):
                return

    def look(self) -> list[PushReport]:
        """Deliver what has changed since the look before; return what became of it."""
        reports = []
        found: set[Path] | None = set()
        for root in self._roots:
            try:
                for path in find_directories([root], may_be_empty=True):
                    if found is not None:
                        found.add(path)
                    try:
                        report = self._look_at(path)
                    except OSError as error:
                        # Of one run; the others are looked at all the same.
                        report = PushReport(path, problems=[said(error)])
                        self._tell_once(report)
                    if report is not None:
                        reports.append(report)
            except (TrackerError, OSError) as error:
                found = None
                self._tell_once(PushReport(root, problems=[said(error)]))
            self._beat()
        if found is not None:
            self._keep(found)
        return reports

    def _keep(self, found: set[Path]) -> None:
        """Forget the runs that are not there any more: nobody can say of them that they live."""
        for path in self._looks.keys() - found:
            for known in (self._looks, self._told, self._living):
                known.pop(path, None)

    def _look_at(self, path: Path) -> PushReport | None:
        found = _look_of(path)
        known, since = self._looks.get(path, ((), 0.0))
        told = self._told.get(path)
        wait = _QUIET_SECONDS if told is not None and told.status == "running" else None
        if told is not None and told.problems:
            wait = _PROBLEM_SECONDS
        now = time.monotonic()
        if found == known and (wait is None or now - since < wait):
            return None
        report = self._pusher.push_run(path, lambda _: self._beat())
        self._looks[path] = (found, now)
        if report.run is not None:
            beat = self._living.pop(path, None)
            if report.status == "running":
                is_same = beat is not None and beat.run == report.run
                self._living[path] = beat if beat and is_same else _Beat(report.run)
        self._tell_once(report)
        return report

    def _tell_once(self, report: PushReport) -> None:
        """Tell of a run what was not said before; how many rows it has by now is no news."""
        before = self._told.get(report.path)
        self._told[report.path] = report
        if before is None or _news(before) != _news(report):
            self._tell(report)

    def _beat(self) -> None:
        """Say of each run that is written that it lives, as often as that has to be said."""
        now = time.monotonic()
        for beat in self._living.values():
            if now - beat.last >= _BEAT_SECONDS:
                beat.last = now
                try:
                    self._client.runs.heartbeat(beat.run)
                except MapiError:
                    # What it is delivered with says what is wrong; a sign that is late is no loss.
                    beat.last = now - _BEAT_SECONDS + 1.0


def _news(report: PushReport) -> tuple[object, ...]:
    return report.run, report.status, report.problems, report.notes


def _look_of(path: Path) -> _Look:
    found = []
    with os.scandir(path) as entries:
        for entry in entries:
            try:
                status = entry.stat()
            except OSError:
                # Gone meanwhile, or a link that leads nowhere: whoever reads it says so, if it matters.
                continue
            found.append((entry.name, status.st_size, status.st_mtime_ns))
    return tuple(sorted(found))
