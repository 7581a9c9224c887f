"""A run that is delivered: opened on the platform, and looked at as often as its files grow."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from expr_tracker.history.status import status_of
from expr_tracker.interruption import is_from_signal
from expr_tracker.store.enclosure import LeadsOutError
from mapi.errors import MapiError
from mapi.follow.deliveries import RejectedError, UnreachableError
from mapi.follow.faults import is_foreseen, said
from mapi.follow.run import settle_status
from mapi.follow.sources import Sources

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mapi.follow.deliveries import Delivery
    from mapi.follow.directories import RunDirectory
    from mapi.follow.sources import Source
    from mapi.wire.runs import RunFacts

__all__ = ["OpenedRun", "PushReport"]

#: The platform is asked again how the run is doing there, should somebody have changed it.
_SETTLE_SECONDS: Final = 30.0


@dataclass
class PushReport:
    """What became of one run directory."""

    path: Path
    run: str | None = None
    """The platform's id; ``None``: it did not come to that."""
    project: str = ""
    sent: dict[str, int] = field(default_factory=dict)
    """What is new on the platform, by kind."""
    there: dict[str, int] = field(default_factory=dict)
    """What was sent and the platform had already, by kind."""
    status: str = ""
    """How the run is doing, as its files say."""
    problems: list[str] = field(default_factory=list)
    """What keeps it from being whole on the platform."""
    notes: list[str] = field(default_factory=list)
    """What was changed or left out, and counted."""

    @property
    def is_whole(self) -> bool:
        """Whether all of it is on the platform that the platform takes."""
        return not self.problems


class OpenedRun:
    """One run directory and its run on the platform.

    Args:
        directory: the run.
        facts: what the platform says of it.
        delivery: the way there.
        again: whether everything is sent from the first row.

    Attributes:
        is_refused: whether the platform refused something of it: the run may be gone there.
    """

    def __init__(
        self, directory: RunDirectory, facts: RunFacts, delivery: Delivery, *, again: bool
    ) -> None:
        self._directory = directory
        self._facts = facts
        self._delivery = delivery
        self._sources = Sources(directory, again=again)
        self._looked_at: list[Source] = []
        self._failed: list[str] = []
        self._status = ""
        self._settled = 0.0
        self.is_refused = False

    def deliver(self, told: Callable[[int], object]) -> None:
        """Deliver what is new in each file, and how the run is doing.

        Raises:
            DeliveryError: there is no getting through, now or at all.
            ApiError: the platform refuses the status.
            TrackerError: there is no such run any more.
        """
        done = [0]
        answers = self._delivery.answers
        failed: list[str] = []
        self._looked_at = self._sources.look()
        for source in self._looked_at:

            def more(bytes_done: int, begun: int = sum(done)) -> None:
                done[-1] = bytes_done
                told(begun + bytes_done)

            done.append(0)
            if (problem := self._deliver_source(source, more)) is not None:
                failed.append(problem)
        self._failed = failed
        path = self._directory.path
        status = status_of(path)
        now = time.monotonic()
        # Who writes to a run that is lost there brings it back, and its files may say that it is over.
        is_brought_back = status != "running" and self._delivery.answers != answers
        if status != self._status or is_brought_back or now - self._settled > _SETTLE_SECONDS:
            self._status = settle_status(self._delivery, path)
            self._settled = now

    def report(self) -> PushReport:
        """Return what became of it so far."""
        losses = self._delivery.losses
        of_files = [problem for source in self._looked_at for problem in source.problems]
        return PushReport(
            self._directory.path,
            run=self._facts.id,
            project=self._facts.project,
            sent=dict(self._delivery.sent),
            there=dict(self._delivery.there),
            status=self._status,
            problems=[*dict.fromkeys([*losses.problems, *of_files, *self._failed])],
            notes=losses.sentences(),
        )

    def _deliver_source(self, source: Source, told: Callable[[int], object]) -> str | None:
        """Deliver one file, and return what kept it; that costs the others of the run nothing."""
        try:
            source.deliver(self._delivery, told)
        except (RejectedError, UnreachableError):
            raise
        except Exception as error:
            if is_from_signal(error):
                raise
            if isinstance(error, LeadsOutError):
                return None  # whoever holds the reading within the directory tells
            self.is_refused = self.is_refused or isinstance(error, MapiError)
            whose = (
                source.key.label if is_foreseen(error) else f"{source.key.label}, {source.file}"
            )
            return f"{whose}: {said(error)}"
        return None
