"""How far the reading of a run is, told to whoever shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expr_tracker.errors import QuestionTypeError
from expr_tracker.store.reader import part_paths
from expr_tracker.texts import shown, type_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from expr_tracker.history.location import Producer

__all__ = ["Progress", "checked_report", "size_bytes"]


class Progress:
    """Adds up what was read.

    Args:
        report: called with the bytes done and the bytes to do.
        total: the bytes to do.
    """

    def __init__(self, report: Callable[[int, int], object] | None, total: int) -> None:
        self._report = checked_report(report)
        self._total = total
        self._done = 0

    def advance(self, size: int) -> None:
        """Take in that ``size`` more bytes were read."""
        self._done += size
        if self._report is not None:
            # Files of a live run grow while they are read.
            self._report(min(self._done, self._total), self._total)


def checked_report(
    report: Callable[[int, int], object] | None,
) -> Callable[[int, int], object] | None:
    """Return what a caller wants to be told of the progress with.

    Raises:
        QuestionTypeError: it cannot be called.
    """
    if report is None or callable(report):
        return report
    raise QuestionTypeError(
        f"progress={shown(report)} ({type_name(report)}): expected a function of two numbers, what is "
        "done and what there is to do, or None."
    )


def size_bytes(producer: Producer) -> int:
    """Return the size of a metrics file, parts included."""
    before, after = part_paths(producer.path)
    paths = [*before, producer.path, *after]
    return sum(path.stat().st_size for path in paths if path.exists())
