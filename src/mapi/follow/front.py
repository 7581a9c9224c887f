"""What commands call: find the server, deliver, tell what became of it."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Final

from expr_tracker.errors import PlatformError
from mapi.errors import MapiError
from mapi.follow.proof.against import prove
from mapi.follow.pushing import Pusher, push
from mapi.follow.watching import Watch
from mapi.sdk.synchronous.client import Client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from mapi.follow.opened import PushReport
    from mapi.follow.proof.against import Proof

__all__ = ["CALL_SECONDS", "prove_run", "push_once", "watch"]

#: Of one request: a batch takes a quarter of a second, and a server that is busy a few.
CALL_SECONDS = 30.0
#: Of a question, which no patience stands behind.
_TRIES: Final = 5


def push_once(  # noqa: PLR0913 - its parts, given by name
    roots: Sequence[Path],
    *,
    project: str | None,
    again: bool,
    pause: Callable[[float], bool],
    tell_outage: Callable[[str | None], object],
    progress: Callable[[int, int], object] | None,
    reports: list[PushReport],
) -> None:
    """Deliver what the runs at or below folders hold now.

    Args:
        roots: the folders.
        project: takes all of them; without one see `projects`.
        again: whether everything is sent from the first row.
        pause: waits for so many seconds; ``True`` ends the patience with a server that is not there.
        tell_outage: hears why nothing gets through for a while, and ``None`` when it does again.
        progress: hears of the bytes that are done, and of those there are.
        reports: takes each report in; before an error it has those of the runs that it kept too.

    Raises:
        PlatformError: nobody says where the platform is, it does not answer, or lets nobody in.
    """
    with _client(project) as client:
        push(
            Pusher(client, again=again, pause=pause, tell_outage=tell_outage),
            roots,
            progress=progress,
            reports=reports,
        )


def watch(  # noqa: PLR0913 - its parts, given by name
    roots: Sequence[Path],
    *,
    project: str | None,
    again: bool,
    pause: Callable[[float], bool],
    tell_outage: Callable[[str | None], object],
    tell: Callable[[PushReport], object],
    begun: Callable[[], object],
) -> None:
    """Deliver what grows at or below folders, new runs too, until ``pause`` says that it is over.

    What is there when it is over is delivered still, if the server answers.

    Args:
        roots: the folders; they may be empty still.
        project: takes all of them; without one see `projects`.
        again: whether everything is sent from the first row.
        pause: waits for so many seconds; ``True`` ends it.
        tell_outage: hears why nothing gets through for a while, and ``None`` when it does again.
        tell: hears of each run when there is something to say of it.
        begun: is called once all that is there was looked at, and what comes is waited for.

    Raises:
        PlatformError: nobody says where the platform is, or it lets nobody in.
    """
    with _client(project) as client:
        pusher = Pusher(
            client,
            again=again,
            patience_seconds=math.inf,
            pause=pause,
            tell_outage=tell_outage,
        )
        watched = Watch(pusher, client, roots, tell=tell)
        watched.look()
        if not pause(0.0):
            begun()
            watched.run(pause)
        watched.look()


def prove_run(path: Path, *, progress: Callable[[int, int], object] | None) -> Proof:
    """Compare a run's files with what the platform has of it.

    Args:
        path: the run's directory.
        progress: hears of the bytes that are done, and of those there are.

    Raises:
        PlatformError: nobody says where the platform is, it does not answer, or lets nobody in.
        RunNotFoundError: there is no such run directory.
    """
    with _client(None, tries=_TRIES) as client:
        return prove(client, path, progress=progress)


@contextlib.contextmanager
def _client(project: str | None, *, tries: int = 1) -> Iterator[Client]:
    try:
        # One try by default: a delivery has a patience of its own.
        with Client(project=project, timeout_seconds=CALL_SECONDS, tries=tries) as client:
            yield client
    except MapiError as error:
        raise PlatformError(str(error)) from error
