"""What a run makes when it is first asked for: its history and its artifacts.

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
    from expr_tracker.run.run import Run

__all__ = ["Late", "artifacts_of", "history_of"]

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


def history_of(run: Run) -> HistoryStore:
    """Return the live history of a run."""
    from expr_tracker.history import HistoryStore  # noqa: PLC0415 - only who asks pays

    return HistoryStore(run.files.metrics, run.snapshot, run.flush, run.options, run.guard)


def artifacts_of(run: Run) -> ArtifactStore:
    """Return the artifact store of a run's project."""
    from expr_tracker.artifacts import ArtifactStore  # noqa: PLC0415 - as above

    return ArtifactStore(
        run.place.artifacts,
        run.files.artifacts,
        run.name,
        warn=run.warn_of_artifact,
        clock=run.clock,
        redact=redact,
    )
