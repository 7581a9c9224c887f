"""All backends of a run: begun behind its files, and ended behind them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from expr_tracker.backends.feed import Feed
from expr_tracker.errors import TrackerError
from expr_tracker.interruption import is_from_signal
from expr_tracker.texts import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from expr_tracker.backends.choice import Choice
    from expr_tracker.notices import Notices
    from expr_tracker.row import Row
    from expr_tracker.store.files import StreamKey

__all__ = ["Feeds"]


class Feeds:
    """The backends of one run in one process.

    Args:
        choice: which were asked for.
        is_fed: whether this rank feeds them.
        notices: where is said what keeps one from beginning, and of every outage.
    """

    def __init__(self, choice: Choice, *, is_fed: bool, notices: Notices) -> None:
        self._choice = choice
        self._is_fed = is_fed
        self._notices = notices
        self._feeds: tuple[Feed, ...] = ()
        self._missing: dict[str, str] = {}
        self._rows: Callable[[], int] = int

    def start(
        self, directory: Path, keys: Sequence[StreamKey], *, rows: Callable[[], int]
    ) -> None:
        """Begin to feed; what cannot begin is said, and the run goes on without.

        Args:
            directory: of the run, whose files are there.
            keys: the streams that this process writes.
            rows: returns how many rows they have on disk.
        """
        self._rows = rows
        makes = self._choice.makes
        if makes and not self._is_fed:
            names = ", ".join(makes)
            self._notices.say(
                f"This rank feeds no backend ({names}): backend_on_rank=None lets all of them.",
                level=logging.INFO,
            )
            return
        for name, make in makes.items():
            try:
                feed = Feed(make(directory, keys), rows=rows, notices=self._notices)
                feed.start()
            except Exception as error:  # none of it is worth a run
                if is_from_signal(error):
                    raise
                self._miss(name, error)
            else:
                self._feeds += (feed,)

    def _miss(self, name: str, error: Exception) -> None:
        text = str(error) if isinstance(error, TrackerError) else shown(error)
        self._missing[name] = text
        self._notices.say(
            f"backend {name}: {text.rstrip('.')}. The run is logged to its directory only."
        )

    def losses(self) -> dict[str, int]:
        """Return what backends have not as it stands in the files, by what they name."""
        return {what: count for feed in self._feeds for what, count in feed.losses().items()}

    def figures(self) -> dict[str, Row]:
        """Return how far each backend is, by its name; those too that could not begin."""
        missing: dict[str, Row] = {
            name: {
                "delivered": 0,
                "waiting": self._rows(),
                "dropped": 0,
                "last_error": error,
                "url": None,
            }
            for name, error in self._missing.items()
        }
        return {**missing, **{feed.name: feed.figures() for feed in self._feeds}}

    @property
    def url(self) -> str | None:
        """The run's address at the first backend that has one."""
        return next((feed.url for feed in self._feeds if feed.url is not None), None)

    def finish(self, seconds: Callable[[], float], *, patience_seconds: float) -> None:
        """Deliver the rest of the run, whose files are complete, and say what was not delivered.

        Args:
            seconds: returns how much time is left.
            patience_seconds: how long nothing may get through.
        """
        for feed in self._feeds:
            feed.finish(seconds(), patience_seconds=patience_seconds)

    def leave_behind(self) -> None:
        """Deliver no more, and wait for nothing."""
        for feed in self._feeds:
            feed.leave_behind()

    def abandon_in_child(self) -> None:
        """Become the parent's after a fork: its threads are not here, and nothing is sent."""
        self._feeds = ()
