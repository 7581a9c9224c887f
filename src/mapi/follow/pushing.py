"""Run directories are delivered: once, or for as long as they grow.

Every directory is delivered by itself. One that cannot be read, or that the platform refuses, costs the
others nothing; a server that is not there ends all of it, for the next push goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import TrackerError
from mapi.errors import MapiError
from mapi.follow.deliveries import Delivery, RejectedError, UnreachableError
from mapi.follow.directories import find_directories, run_directory
from mapi.follow.losses import Losses
from mapi.follow.projects import Projects
from mapi.follow.run import open_run, settle_status
from mapi.follow.sources import sources_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from mapi.follow.sources import Source
    from mapi.sdk.synchronous.client import Client

__all__ = ["PATIENCE_SECONDS", "Pusher", "RunReport", "push", "said"]

#: How long a server that does not answer is waited for, from the last answer on.
PATIENCE_SECONDS: Final = 60.0


@dataclass
class RunReport:
    """What became of one run directory."""

    path: Path
    run: str | None = None
    """The platform's id; ``None``: it did not come to that."""
    project: str = ""
    sent: dict[str, int] = field(default_factory=dict)
    """What is new on the platform, by kind."""
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


class Pusher:
    """Delivers runs, one after the other; a run that comes again goes on where it was.

    Args:
        client: of the platform; its project takes all runs. Without one each goes to the project that is
            called as its own, which is made where the token may.
        again: whether everything is sent from the first row.
        patience_seconds: how long a server that does not answer is waited for.
        pause: waits for so many seconds; ``True`` ends the patience.
    """

    def __init__(
        self,
        client: Client,
        *,
        again: bool = False,
        patience_seconds: float = PATIENCE_SECONDS,
        pause: Callable[[float], bool],
    ) -> None:
        self._projects = Projects(client)
        self._again = again
        self._patience_seconds = patience_seconds
        self._pause = pause
        self._paths: dict[str, Path] = {}

    def push_run(self, path: Path, told: Callable[[int], object]) -> RunReport:
        """Deliver what is there of a run.

        Args:
            path: its directory.
            told: hears of the bytes that are done.

        Raises:
            RejectedError: the server lets nobody in with this token.
            UnreachableError: the server did not answer for as long as the patience lasts.
        """
        losses = Losses()
        report = RunReport(path, problems=losses.problems)
        try:
            self._deliver(report, losses, told)
        except (RejectedError, UnreachableError):
            raise
        except (TrackerError, OSError, MapiError) as error:
            losses.fail(said(error))
        report.notes = losses.sentences()
        return report

    def _deliver(self, report: RunReport, losses: Losses, told: Callable[[int], object]) -> None:
        directory = run_directory(report.path)
        other = self._paths.setdefault(directory.id, report.path)
        if other != report.path:
            losses.fail(
                f"it has the id of {other}, {directory.id}: one is a copy of the other, and both would "
                "be one run. Push one of them, or delete the run.json of the copy"
            )
            return
        delivery = Delivery(
            self._projects.client.runs,
            losses=losses,
            patience_seconds=self._patience_seconds,
            pause=self._pause,
        )
        runs = delivery.call(lambda: self._projects.runs_of(directory.project))
        facts = delivery.call(lambda: open_run(runs, directory))
        report.run, report.project = facts.id, facts.project
        delivery.begin(facts.id)
        report.sent = delivery.sent
        done = 0
        for source in sources_of(directory, again=self._again):

            def more(bytes_done: int, begun: int = done) -> None:
                told(begun + bytes_done)

            self._deliver_source(source, delivery, more)
            done += source.size_bytes()
        report.status = settle_status(delivery, report.path)

    def _deliver_source(
        self, source: Source, delivery: Delivery, told: Callable[[int], object]
    ) -> None:
        """Deliver one file; what is wrong with it costs the others of the run nothing."""
        try:
            source.deliver(delivery, told)
        except (RejectedError, UnreachableError):
            raise
        except (TrackerError, OSError, MapiError) as error:
            delivery.losses.fail(f"{source.key.label}: {said(error)}")


def push(
    pusher: Pusher,
    roots: Iterable[Path],
    *,
    progress: Callable[[int, int], object] | None = None,
) -> list[RunReport]:
    """Deliver what the runs at or below folders hold now.

    Args:
        pusher: delivers them.
        roots: the folders.
        progress: hears of the bytes that are done, and of those there are.

    Returns:
        A report for each run, in the order of their folders, and for each folder that holds none.

    Raises:
        RejectedError: the server lets nobody in with this token.
        UnreachableError: the server did not answer for as long as the patience lasts.
    """
    reports: list[RunReport] = []
    found: list[tuple[Path, int]] = []
    for root in roots:
        try:
            for path in find_directories([root]):
                if all(path != known for known, _ in found):
                    found.append((path, _size_of(path)))
        except (TrackerError, OSError) as error:
            reports.append(RunReport(root, problems=[said(error)]))
    total, done = sum(size for _, size in found), 0
    for path, size in found:

        def told(more: int, begun: int = done) -> None:
            if progress is not None:
                progress(min(begun + more, total), total)

        reports.append(pusher.push_run(path, told))
        done += size
    return reports


def said(error: Exception) -> str:
    """Return an error as a report says it, which names the file where that helps."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror}"
    return str(error)


def _size_of(path: Path) -> int:
    """Return the bytes of a run's files that are delivered."""
    try:
        return sum(entry.stat().st_size for entry in path.glob("metrics*.jsonl"))
    except OSError:
        return 0
