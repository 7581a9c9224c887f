"""The backend of a run that goes on: what one process writes, delivered while it writes.

A thread of the library asks (`expr_tracker.backends.feed`); each call does what there is to do now and
comes back. What fails is raised at once, for that thread knows how to wait: nothing is tried again here.
Only the streams of this process are delivered. The run is opened on the platform by whoever comes
first, and its status is what the files of all streams say, so whoever ends last says the end.
"""

from __future__ import annotations

import contextlib
import shlex
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from expr_tracker.backends.backend import BackendDownError, BackendRefusedError
from expr_tracker.errors import PlatformError, TrackerError
from expr_tracker.store.enclosure import Enclosure, LeadsOutError
from mapi.config import proxy_for
from mapi.errors import InvalidError, MapiError
from mapi.follow.deliveries import Delivery, RejectedError, UnreachableError
from mapi.follow.directories import run_directory
from mapi.follow.faults import is_foreseen, said
from mapi.follow.losses import Losses
from mapi.follow.projects import Projects
from mapi.follow.run import open_run, settle_status
from mapi.follow.sources import Sources
from mapi.follow.streams import MetricsSource
from mapi.sdk.errors import ApiError, ForbiddenError, NotFoundError
from mapi.sdk.synchronous.client import Client

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from expr_tracker.store.files import StreamKey
    from mapi.follow.sources import Source

__all__ = ["LiveBackend"]

#: Of one request: short, for it is what the end of a run may have to wait for.
_CALL_SECONDS: Final = 10.0
#: Of one request. Making one holds the interpreter, and a thread that logs waits as long: so few
#: that it is a millisecond or two.
_BATCH_POINTS: Final = 2_000

#: What is said of one file and is true of all.
_ENDS_ALL: Final = (
    UnreachableError,
    RejectedError,
    NotFoundError,
    ForbiddenError,
    BackendDownError,
    BackendRefusedError,
)

_Answer = TypeVar("_Answer")


class LiveBackend:
    """Delivers what one process writes of a run; see `expr_tracker.backends.backend.Backend`.

    Args:
        directory: of the run.
        keys: the streams that this process writes.
        url: of the server; this and the others by default as `mapi.Client` finds them.
        token: of the server.
        project: where the run goes.

    Raises:
        PlatformError: nothing says where the server is, or what says so is wrong.
    """

    name = "mapi"

    def __init__(
        self,
        directory: Path,
        keys: Sequence[StreamKey],
        *,
        url: str | None = None,
        token: str | None = None,
        project: str | None = None,
    ) -> None:
        self._path = directory
        self._enclosure = Enclosure(directory)
        self._keys = tuple(keys)
        try:
            self._client = Client(
                url, token=token, project=project, timeout_seconds=_CALL_SECONDS, tries=1
            )
            _load_all(self._client.url)
        except MapiError as error:
            raise PlatformError(str(error)) from None
        self.where = self._client.url
        self.later = f"et push {shlex.quote(str(directory))}"
        if project is not None:
            self.later += f" --project {shlex.quote(project)}"
        self._projects = Projects(self._client)
        self._losses = Losses()
        self._delivery: Delivery | None = None
        self._sources: Sources | None = None
        self._sizes: dict[Source, int] = {}
        self._failed: dict[Source, str] = {}

    def open(self) -> str:
        """Reach the run on the platform, make it if there is none; return its address."""
        return self._asked(self._open)

    def _open(self) -> str:
        directory = run_directory(self._path)
        for change in directory.changes:
            self._losses.note(change)
        delivery = Delivery(
            self._client.runs, losses=self._losses, patience_seconds=0.0, pause=_never
        )
        runs = delivery.call(lambda: self._projects.runs_of(directory.project))
        facts = delivery.call(lambda: open_run(runs, directory))
        delivery.begin(facts.id)
        # A run that is taken up again was over.
        settle_status(delivery, self._path)
        self._delivery = delivery
        self._sources = Sources(directory, keys=self._keys, batch_points=_BATCH_POINTS)
        self._sizes, self._failed = {}, {}
        return f"{self._client.url}/runs/{facts.id}"

    def deliver(self, told: Callable[[], object]) -> None:
        """Deliver what is new of the files of this process."""
        delivery, sources = self._opened()
        # A request that is answered got through, whatever else its file waits for.
        delivery.heard = told
        for source in sources.look():
            self._asked(partial(self._deliver, source, delivery, told))

    def _deliver(self, source: Source, delivery: Delivery, told: Callable[[], object]) -> None:
        size = source.size_bytes()
        if self._sizes.get(source) == size:
            return
        try:
            source.deliver(delivery, lambda _: told())
        except _ENDS_ALL:
            raise
        except LeadsOutError:
            self._failed.pop(source, None)  # told by the enclosure
        except Exception as error:  # noqa: BLE001 - on a thread of ours, and told
            # It costs the other files nothing, and is tried again when this one has grown.
            whose = (
                source.key.label if is_foreseen(error) else f"{source.key.label}, {source.file}"
            )
            self._failed[source] = f"{whose}: {said(error)}"
        else:
            self._failed.pop(source, None)
        self._sizes[source] = size

    def beat(self) -> float:
        """Say that the run lives."""
        delivery, _ = self._opened()
        # Whoever hears of answers gives the signs of life: this one's is none to hear of.
        heard, delivery.heard = delivery.heard, None
        try:
            answer = self._asked(
                lambda: delivery.call(lambda: delivery.runs.heartbeat(delivery.run))
            )
        finally:
            delivery.heard = heard
        return answer.due_seconds

    def end(self) -> None:
        """Bring the run's status to what the files of all streams say."""
        delivery, _ = self._opened()
        self._asked(lambda: settle_status(delivery, self._path))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def rows_waiting(self) -> int:
        """Return how many rows of this process the platform is not known to have."""
        sources = self._sources
        return sum(
            (
                MetricsSource(self._path, key) if sources is None else sources.metrics_of(key)
            ).rows_behind()
            for key in self._keys
        )

    def losses(self) -> dict[str, int]:
        """Return what has no place on the platform, did not fit a budget or was rounded, of each stream."""
        return self._losses.counts()

    def remarks(self) -> list[str]:
        """Return what is not there as it stands in the files, and why."""
        of_files = [problem for source in self._sizes for problem in source.problems]
        outside = map(said, self._enclosure.refused())
        problems = [*self._losses.problems, *of_files, *self._failed.values(), *outside]
        return [*dict.fromkeys(problems), *self._losses.sentences()]

    def _opened(self) -> tuple[Delivery, Sources]:
        if self._delivery is None or self._sources is None:
            raise BackendDownError("the run was not reached")
        return self._delivery, self._sources

    def _asked(self, request: Callable[[], _Answer]) -> _Answer:
        """Return what a request brings; what it raises is said in the words of a backend.

        Raises:
            BackendRefusedError: only a person can change that.
            BackendDownError: the same may work in a moment.
        """
        try:
            with self._enclosure.held():
                return request()
        except UnreachableError as error:
            cause = error.__cause__
            wait_seconds = getattr(cause, "retry_after_seconds", None) or 0.0
            raise BackendDownError(str(error), wait_seconds=wait_seconds) from error
        except RejectedError as error:
            raise BackendRefusedError(
                f"{error} Keep a token that works with `mapi login`, or set MAPI_TOKEN."
            ) from error
        except (ApiError, InvalidError) as error:
            raise BackendRefusedError(str(error)) from error
        except (MapiError, TrackerError, OSError) as error:
            raise BackendDownError(said(error)) from error


def _never(seconds: float) -> bool:
    del seconds
    return True


def _load_all(url: str) -> None:
    """Load now what the first request would load, on a thread beside which the program may fork.

    Raises:
        SettingError: a variable names a proxy that is none.
    """
    "a".encode("idna")
    proxy_for(url)
    with contextlib.suppress(ImportError):
        import zstandard  # noqa: F401, PLC0415 - an extra
