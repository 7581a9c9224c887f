"""What spans ask of an open run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from expr_tracker.clock import Clock
    from expr_tracker.record.open_row import Join
    from expr_tracker.row import Row

__all__ = ["SpanTarget"]


class SpanTarget(Protocol):
    """What an open run does with spans; `expr_tracker.run.target.RunSpans` does it."""

    @property
    def clock(self) -> Clock:
        """The clock of the run's rows, which its spans go by too."""
        ...

    @property
    def records(self) -> bool:
        """Whether a line for the span file is wanted."""
        ...

    @property
    def print_fn(self) -> Callable[[str], object] | None:
        """The run's default for spans that have none of their own."""
        ...

    @property
    def plugins(self) -> Sequence[Any]:
        """The run's default plugins."""
        ...

    def finished(
        self, path: str, duration_ms: float, metrics: Row, *, joins: Mapping[str, Join]
    ) -> int | None:
        """Join a finished span to the open row, each metric by its rule in ``joins``.

        Returns:
            The step that it is counted at; ``None`` once the run has finished.
        """
        ...

    def append(self, line: bytes) -> None:
        """Append one line, its end included, to the span file; never raises."""
        ...

    def encode(self, key: str, value: object) -> Any:
        """Return ``value`` as a row stores it."""
        ...

    def redact(self, value: Any, /) -> Any:
        """Return attributes, plain ones, without secrets."""
        ...

    def count_dropped(self, kind: str) -> None:
        """Count one thing of ``kind`` that was dropped."""
        ...
