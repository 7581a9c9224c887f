"""The run on the platform that a run directory is: opened once, and brought to how the files end.

Whatever the number of its processes, a directory is one run: its id is the platform's `external_id`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from expr_tracker.errors import TrackerError
from expr_tracker.history.attempts import told_attempts
from expr_tracker.history.location import producers_of
from expr_tracker.history.source import Source
from expr_tracker.history.status import status_of
from expr_tracker.interruption import is_from_signal
from mapi.errors import InvalidError
from mapi.follow.instants import instant_of
from mapi.sdk.errors import PreconditionFailedError
from mapi.wire.enums import RunStatus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from expr_tracker.store.index import Attempt
    from mapi.follow.deliveries import Delivery
    from mapi.follow.directories import RunDirectory
    from mapi.sdk.synchronous.runs import Runs
    from mapi.wire.runs import RunFacts

__all__ = ["AS_FILES_SAY", "ENDS", "end_of", "open_run", "settle_status"]

#: A run whose status others change as often meanwhile is left for the next push.
_TRIES_MAX: Final = 5
#: Tells an end that the files tell of from one by somebody on the platform.
AS_FILES_SAY: Final = "as its files say"
#: How a run is that has said when it ended.
ENDS: Final = frozenset({"succeeded", "failed", "cancelled"})


def open_run(runs: Runs, directory: RunDirectory) -> RunFacts:
    """Return the platform's run of a directory, made if there is none.

    Raises:
        ApiError: the platform makes none.
        ConnectionFailedError: it does not answer.
    """
    return runs.create(
        name=directory.name,
        external_id=directory.id,
        note=directory.note or None,
        tags=dict.fromkeys(directory.tags, "") or None,
        started=instant_of(directory.created),
    ).facts


def settle_status(delivery: Delivery, path: Path) -> str:
    """Bring the platform's run to how the files say that it is; return that.

    A run that somebody has cancelled on the platform stays so, and the report says it.
    """
    status: str = status_of(path)
    for _ in range(_TRIES_MAX):
        facts = delivery.call(lambda: delivery.runs.get(delivery.run))
        # Behind the version: of several processes that end at once, one saw all ends before it asked.
        status = status_of(path)
        if facts.status.value == status and not _has_other_end(facts, path):
            break
        if status not in {"running", facts.status.value} and _has_later_end(facts, path):
            delivery.losses.note(
                f"it ended on the platform after all that these files have, and stays "
                f"{facts.status.value} there; here it is {status}"
            )
            break
        wanted = status
        if facts.status is RunStatus.CANCELLED and status != "cancelled":
            if facts.reason != AS_FILES_SAY:
                delivery.losses.note(
                    f"it was cancelled on the platform ({facts.reason or 'nobody said why'}) and "
                    f"stays so; here it is {status}"
                )
                break
            # Its files said so until it was taken up again.
            wanted = "running"
        if _is_changed(delivery, facts, status=wanted, path=path) and wanted == status:
            break
    return status


def _is_changed(delivery: Delivery, facts: RunFacts, *, status: str, path: Path) -> bool:
    """Change the status of the version that was read; say whether it was that one still."""
    change: dict[str, Any] = {"status": status}
    if status in ENDS and (finished := instant_of(end_of(path))) is not None:
        change["finished"] = finished
    if status == "cancelled":
        change["reason"] = AS_FILES_SAY
    try:
        # By the version: what comes late changes nothing any more.
        delivery.call(lambda: delivery.runs.update(facts, **change, if_match=facts.etag))
    except PreconditionFailedError:
        return False
    except InvalidError as error:
        if error.faults[0].pointer != "/finished":
            raise
        # A clock that was set back: it ended before it began.
        del change["finished"]
        delivery.call(lambda: delivery.runs.update(facts, **change, if_match=facts.etag))
    return True


def _has_other_end(facts: RunFacts, path: Path) -> bool:
    """Say whether a run that has ended there did so at another time here: it went on since."""
    if facts.status.value not in ENDS:
        return False
    if facts.status is RunStatus.CANCELLED and facts.reason != AS_FILES_SAY:
        return False
    finished = instant_of(end_of(path))
    # One before its beginning, of a clock that was set back, is taken nowhere.
    is_taken = finished is not None and finished >= (facts.started or facts.created)
    return is_taken and facts.finished != finished


def _has_later_end(facts: RunFacts, path: Path) -> bool:
    """Say whether a run ended there after all that the files tell of: they are a part of it, or a copy.

    One that was taken up again here began after that end, or has the end before that beginning.
    """
    if facts.status.value not in ENDS or facts.finished is None:
        return False
    if facts.status is RunStatus.CANCELLED and facts.reason != AS_FILES_SAY:
        return False
    times = [
        instant_of(time)
        for attempts in _attempts_of(path)
        for attempt in attempts
        for time in (attempt.time, attempt.end_time)
    ]
    newest = max((one for one in times if one is not None), default=None)
    # A clock that was set back behind the beginning says nothing.
    return newest is not None and (facts.started or facts.created) <= newest < facts.finished


def end_of(path: Path) -> float | None:
    """Return when the last of a run's producers ended, in Unix seconds, of those that can be read."""
    ends = [attempts[-1].end_time for attempts in _attempts_of(path)]
    return max((one for one in ends if one is not None), default=None)


def _attempts_of(path: Path) -> Iterator[list[Attempt]]:
    """Iterate over the attempts of each of a run's producers, of those that can be read."""
    for producer in producers_of(path, "*"):
        try:
            with Source.offline(producer) as source:
                found = told_attempts(producer, source)
        except (OSError, TrackerError) as error:
            if is_from_signal(error):
                raise
        else:
            yield found
