"""What of a run directory is delivered: one source for each file that is a queue of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from expr_tracker.store.files import stream_keys
from mapi.follow.console import ConsoleSource
from mapi.follow.documents import DocumentsSource
from mapi.follow.media import MediaSource
from mapi.follow.spans import SpansSource
from mapi.follow.streams import BATCH_POINTS, MetricsSource

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from expr_tracker.store.files import StreamKey
    from mapi.follow.deliveries import Delivery
    from mapi.follow.directories import RunDirectory

__all__ = ["Source", "Sources"]


class Source(Protocol):
    """Items of one file of a run, which grows."""

    key: StreamKey
    """Whose file it is."""
    file: str
    """How messages name the file."""

    @property
    def problems(self) -> Sequence[str]:
        """What keeps the file, as it is now, from being whole on the platform."""
        ...

    def size_bytes(self) -> int:
        """Return how far the file goes now: a number that changes where there may be something new."""
        ...

    def deliver(self, delivery: Delivery, told: Callable[[int], object]) -> None:
        """Deliver all that is there now and not on the platform; what is said again changes nothing.

        Args:
            delivery: the way to the platform, with where each queue stands.
            told: hears of bytes that are done.

        Raises:
            DeliveryError: there is no getting through, now or at all.
            ApiError: the platform refuses it.
            OSError: the file cannot be read.
            TrackerError: it is none of the kind.
        """
        ...


class Sources:
    """The sources of a run, the same ones at each look: each knows how far it is.

    Args:
        directory: the run.
        again: whether all is delivered from the first line, whatever the platform has.
        keys: the producers that are meant; by default all.
        batch_points: about how many points go in one request.
    """

    def __init__(
        self,
        directory: RunDirectory,
        *,
        again: bool = False,
        keys: Collection[StreamKey] | None = None,
        batch_points: int = BATCH_POINTS,
    ) -> None:
        self._path = directory.path
        self._again = again
        self._keys = keys
        self._batch_points = batch_points
        self._kept: dict[tuple[type, StreamKey], Source] = {}

    def look(self) -> list[Source]:
        """Return the sources of the run as it is now, the default producer's documents first."""
        return [self._kept.setdefault((type(one), one.key), one) for one in self._found()]

    def metrics_of(self, key: StreamKey) -> MetricsSource:
        """Return the metrics of a producer, also before it was looked at."""
        kept = self._kept.get((MetricsSource, key))
        return kept if isinstance(kept, MetricsSource) else MetricsSource(self._path, key)

    def _found(self) -> list[Source]:
        path, known = self._path, stream_keys(self._path)
        meant = self._meant(known)
        return [
            *(DocumentsSource(path, key, is_first=key is known[0]) for key in meant),
            *(
                MetricsSource(path, key, again=self._again, batch_points=self._batch_points)
                for key in meant
            ),
            *(MediaSource(path, key, again=self._again) for key in meant),
            *(SpansSource(path, key) for key in self._meant(stream_keys(path, "spans"))),
            *(ConsoleSource(path, key) for key in self._meant(stream_keys(path, "console"))),
        ]

    def _meant(self, keys: Iterable[StreamKey]) -> list[StreamKey]:
        return [key for key in keys if self._keys is None or key in self._keys]
