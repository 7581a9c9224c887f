"""What a run makes when it is first asked for: its history, its artifacts, the class of its spans.

No `functools.cached_property`: until Python 3.12 it has one lock for all instances, which a fork may
copy while it is held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from expr_tracker.capture.redaction import redact
from expr_tracker.loading import loading

if TYPE_CHECKING:
    from collections.abc import Callable

    from expr_tracker.artifacts import ArtifactStore
    from expr_tracker.history import HistoryStore
    from expr_tracker.run.stream import OpenStream
    from expr_tracker.spans import Span

__all__ = ["Late", "artifacts_of", "history_of", "span_class"]

Made = TypeVar("Made")


class Late(Generic[Made]):
    """One value and what makes it; the maker may load modules.

    Attributes:
        made: the value; ``None`` as long as nobody asked.
    """

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self.made: Made | None = None

    def get(self) -> Made:
        """Return the value; the first caller makes it."""
        made = self.made
        if made is None:
            with loading:
                made = self.made  # another thread may have made it meanwhile
                if made is None:
                    made = self.made = self._make()
        return made


def history_of(stream: OpenStream, flush: Callable[[bool], None]) -> HistoryStore:
    """Return the live history of a stream; ``flush`` writes what waits."""
    from expr_tracker.history import HistoryStore  # noqa: PLC0415 - only who asks pays

    return HistoryStore(
        stream.files.metrics, stream.snapshot, flush, stream.options, stream.life.guard
    )


def artifacts_of(stream: OpenStream) -> ArtifactStore:
    """Return the artifact store of a run's project."""
    from expr_tracker.artifacts import ArtifactStore  # noqa: PLC0415 - as above

    def warn(key: str, text: str) -> None:
        stream.notices.once(("artifact", key), text)

    return ArtifactStore(
        stream.place.artifacts,
        stream.files.artifacts,
        stream.place.name,
        warn=warn,
        clock=stream.clock,
        redact=redact,
    )


def _load_spans() -> type[Span]:
    from expr_tracker.spans import Span  # noqa: PLC0415 - only who times pays

    return Span


#: The class `Span`, whose room is loaded by the first span.
span_class = Late(_load_spans)
