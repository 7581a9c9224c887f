"""What a backend is: the mirror of one stream in another system, asked by one thread.

Every call may take seconds and may fail in any way. `BackendDownError` says that the same may work in a
moment, `BackendRefusedError` that only a person can change it; whatever else is raised counts as the former.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from expr_tracker.store.files import StreamKey

__all__ = ["Backend", "BackendDownError", "BackendRefusedError", "Make"]


class BackendDownError(Exception):
    """It does not answer, or fails.

    Args:
        message: how, without any secret.
        wait_seconds: how long it wants to be left alone; 0 where it does not say.
    """

    def __init__(self, message: str, *, wait_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds


class BackendRefusedError(Exception):
    """It answers, and takes nothing from us; the message names the fix, and no secret."""


class Backend(Protocol):
    """One mirror of what one process writes of a run. All but `rows_waiting` and `losses` is called by one thread.

    Attributes:
        name: what ``backends=[...]`` calls it.
        where: what messages call the place that it delivers to.
        later: the command that brings there what was not delivered.
    """

    name: str
    where: str
    later: str

    def open(self) -> str | None:
        """Reach the run there, and return its address; called again behind a `BackendRefusedError`."""
        ...

    def deliver(self, told: Callable[[], object]) -> None:
        """Bring there what the files hold and it does not have.

        Args:
            told: is called whenever something got through; what it raises is raised on.
        """
        ...

    def beat(self) -> float:
        """Give a sign of life; return in how many seconds the next one is due."""
        ...

    def end(self) -> None:
        """Say how the run ends, which its files tell; everything is delivered."""
        ...

    def close(self) -> None:
        """Let go of connections; nothing is waited for."""
        ...

    def rows_waiting(self) -> int:
        """Return how many rows of the files are not known to be there; called by any thread."""
        ...

    def losses(self) -> Mapping[str, int]:
        """Return how many values were not taken, had no place there, or have another form, by what it names.

        Called by any thread.
        """
        ...

    def remarks(self) -> Sequence[str]:
        """Return what a person should know of what is not there as it stands in the files."""
        ...


class Make(Protocol):
    """Makes a backend, without asking it anything."""

    def __call__(self, directory: Path, keys: Sequence[StreamKey]) -> Backend:
        """Make it.

        Args:
            directory: of the run.
            keys: the streams that this process writes.

        Raises:
            TrackerError: it cannot work here; the message names the fix.
        """
        ...
