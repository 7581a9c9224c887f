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
    from collections.abc import Callable, Collection

    from expr_tracker.store.files import LineKind, StreamKey
    from mapi.follow.deliveries import Delivery
    from mapi.follow.directories import RunDirectory

__all__ = ["Source", "sources_of"]


class Source(Protocol):
    """Items of one file of a run, which grows."""

    key: StreamKey
    """Whose file it is."""
    file: str
    """How messages name the file."""

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


def sources_of(
    directory: RunDirectory,
    *,
    again: bool = False,
    keys: Collection[StreamKey] | None = None,
    batch_points: int = BATCH_POINTS,
) -> list[Source]:
    """Return the sources of a run as it is now, the default producer's first.

    Args:
        directory: the run.
        again: whether all is delivered from the first line, whatever the platform has.
        keys: the producers that are meant; by default all.
        batch_points: about how many points go in one request.
    """
    path, known = directory.path, stream_keys(directory.path)
    meant = [key for key in known if keys is None or key in keys]

    def having(kind: LineKind) -> list[StreamKey]:
        return [key for key in stream_keys(path, kind) if keys is None or key in keys]

    return [
        *(DocumentsSource(path, key, is_first=key is known[0]) for key in meant),
        *(MetricsSource(path, key, again=again, batch_points=batch_points) for key in meant),
        *(MediaSource(path, key) for key in meant),
        *(SpansSource(path, key) for key in having("spans")),
        *(ConsoleSource(path, key) for key in having("console")),
    ]
