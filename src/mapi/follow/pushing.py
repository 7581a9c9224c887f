"""Run directories are delivered: once, or for as long as they grow.

Every directory is delivered by itself. One that cannot be read, or that the platform refuses, costs the
others nothing; a server that is not there ends all of it, for the next push goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from expr_tracker.errors import RunNotFoundError, TrackerError
from expr_tracker.interruption import is_from_signal
from expr_tracker.store.enclosure import Enclosure
from mapi.follow.deliveries import Delivery, RejectedError, UnreachableError
from mapi.follow.directories import find_directories, id_at, run_directory
from mapi.follow.faults import said
from mapi.follow.line_files import file_size
from mapi.follow.losses import Losses
from mapi.follow.opened import OpenedRun, PushReport
from mapi.follow.projects import Projects
from mapi.follow.run import open_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from mapi.sdk.synchronous.client import Client

__all__ = ["PATIENCE_SECONDS", "PushReport", "Pusher", "push"]

#: How long a server that does not answer is waited for, from the last answer on.
PATIENCE_SECONDS: Final = 60.0


class Pusher:
    """Delivers runs, one after the other; a run that comes again goes on where it was.

    Args:
        client: of the platform; its project takes all runs. Without one each goes to the project that is
            called as its own, which is made where the token may.
        again: whether everything is sent from the first row.
        patience_seconds: how long a server that does not answer is waited for.
        pause: waits for so many seconds; ``True`` ends the patience.
        tell_outage: hears why nothing gets through for a while, and ``None`` when it does again.
    """

    def __init__(
        self,
        client: Client,
        *,
        again: bool = False,
        patience_seconds: float = PATIENCE_SECONDS,
        pause: Callable[[float], bool],
        tell_outage: Callable[[str | None], object] = lambda _: None,
    ) -> None:
        self._tell_outage = tell_outage
        self._projects = Projects(client)
        self._again = again
        self._patience_seconds = patience_seconds
        self._pause = pause
        self._paths: dict[str, Path] = {}
        self._opened: dict[Path, OpenedRun] = {}
        self._enclosures: dict[Path, Enclosure] = {}

    def push_run(self, path: Path, told: Callable[[int], object]) -> PushReport:
        """Deliver what is there of a run and not on the platform.

        Args:
            path: its directory.
            told: hears of the bytes that are done.

        Raises:
            RejectedError: the server lets nobody in with this token.
            UnreachableError: the server did not answer for as long as the patience lasts.
        """
        losses = Losses()
        report = PushReport(path, problems=losses.problems)
        enclosure = self._enclosures.setdefault(path, Enclosure(path))
        try:
            with enclosure.held():
                opened = self._opened.get(path)
                if opened is None:
                    opened = self._opened[path] = self._open(path, losses)
                opened.deliver(told)
            report = opened.report()
            if opened.is_refused:
                self._opened.pop(path)
        except (RejectedError, UnreachableError):
            raise
        except Exception as error:
            if is_from_signal(error):
                raise
            # The next time it is opened anew: the run may be gone there, or another one here.
            self._opened.pop(path, None)
            losses.fail(said(error))
        outside = map(said, enclosure.refused())
        report.problems = [*dict.fromkeys([*report.problems, *outside])]
        return report

    def broken_off(self, path: Path) -> PushReport:
        """Return what had become of a run when an error ended all of it."""
        opened = self._opened.get(path)
        report = PushReport(path) if opened is None else opened.report()
        report.problems = [*report.problems, "broken off"]
        return report

    def _open(self, path: Path, losses: Losses) -> OpenedRun:
        directory = run_directory(path)
        for change in directory.changes:
            losses.note(change)
        other = self._paths.setdefault(directory.id, path)
        if other != path and id_at(other) == directory.id:
            raise RunNotFoundError(
                f"it has the id of {other}, {directory.id}: one is a copy of the other, and both would "
                "be one run. Push one of them, or delete the run.json of the copy."
            )
        self._paths[directory.id] = path
        delivery = Delivery(
            self._projects.client.runs,
            losses=losses,
            patience_seconds=self._patience_seconds,
            pause=self._pause,
            tell_outage=self._tell_outage,
        )
        runs = delivery.call(lambda: self._projects.runs_of(directory.project))
        facts = delivery.call(lambda: open_run(runs, directory))
        delivery.begin(facts.id)
        return OpenedRun(directory, facts, delivery, again=self._again)


def push(
    pusher: Pusher,
    roots: Iterable[Path],
    *,
    progress: Callable[[int, int], object] | None = None,
    reports: list[PushReport] | None = None,
) -> list[PushReport]:
    """Deliver what the runs at or below folders hold now.

    Args:
        pusher: delivers them.
        roots: the folders.
        progress: hears of the bytes that are done, and of those there are.
        reports: takes each report in; before an error it has those of the runs that it kept too.

    Returns:
        A report for each run, in the order of their folders, and for each folder that holds none.

    Raises:
        RejectedError: the server lets nobody in with this token.
        UnreachableError: the server did not answer for as long as the patience lasts.
    """
    reports = [] if reports is None else reports
    found: list[tuple[Path, int]] = []
    for root in roots:
        try:
            for path in find_directories([root]):
                if all(path != known for known, _ in found):
                    found.append((path, _size_of(path)))
        except (TrackerError, OSError) as error:
            reports.append(PushReport(root, problems=[said(error)]))
    total, done = sum(size for _, size in found), 0
    for at, (path, size) in enumerate(found):

        def told(more: int, begun: int = done) -> None:
            if progress is not None:
                progress(min(begun + more, total), total)

        try:
            reports.append(pusher.push_run(path, told))
        except (RejectedError, UnreachableError):
            reports.append(pusher.broken_off(path))
            left = [later for later, _ in found[at + 1 :]]
            reports.extend(PushReport(later, problems=["not looked at"]) for later in left)
            raise
        done += size
    return reports


def _size_of(path: Path) -> int:
    """Return the bytes of a run's files that are delivered, of those that can be looked at."""
    return sum(
        file_size(file)
        for kind in ("metrics", "spans", "console")
        for file in path.glob(f"{kind}*.jsonl")
    )
