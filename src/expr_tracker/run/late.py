"""What a run makes when it is first asked for: its history and its artifacts.

Making them late saves time; loading late what a training loop may ask for would not do: see
`expr_tracker.run.setup`. Who stores artifacts needs descriptors for them anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from expr_tracker.capture.redaction import redact
from expr_tracker.history.live import HistoryStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from expr_tracker.artifacts import ArtifactStore
    from expr_tracker.run.stream import OpenStream

__all__ = ["artifacts_of", "history_of"]


def history_of(stream: OpenStream, flush: Callable[[bool], None]) -> HistoryStore:
    """Return the live history of a stream; ``flush`` writes what waits."""
    return HistoryStore(
        stream.files.metrics, stream.snapshot, flush, stream.options, stream.life.guard
    )


def artifacts_of(stream: OpenStream) -> ArtifactStore:
    """Return the artifact store of a run's project."""
    from expr_tracker.artifacts import ArtifactStore  # noqa: PLC0415 - only who asks pays

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
