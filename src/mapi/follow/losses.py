"""What was not delivered as it stands in the files, counted by reason."""

from __future__ import annotations

from collections import Counter

from expr_tracker.notices import counted

__all__ = ["Losses"]


class Losses:
    """Counts of one run, by stream and reason."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self.problems: list[str] = []
        """What keeps the run from being whole on the platform."""
        self.notes: list[str] = []
        """What a person should know besides."""

    def add(self, label: str, what: str, reason: str, *, count: int = 1) -> None:
        """Count what was not delivered.

        Args:
            label: of the producer.
            what: in the singular: ``value``.
            reason: why, and what is there in its place.
            count: how many.
        """
        if count:
            self._counts[label, what, reason] += count

    def counts(self) -> dict[str, int]:
        """Return how many there are of each kind; by any thread."""
        return {
            f"{label}: {what} {reason}": count
            for (label, what, reason), count in [*self._counts.items()]
        }

    def fail(self, problem: str) -> None:
        """Take in what keeps the run from being whole; each is told once."""
        if problem not in self.problems:
            self.problems.append(problem)

    def note(self, text: str) -> None:
        """Take in what a person should know; each is told once."""
        if text not in self.notes:
            self.notes.append(text)

    def sentences(self) -> list[str]:
        """Return what a report says of the counts."""
        counts = [
            f"{label}: {counted(count, what)} {reason}"
            for (label, what, reason), count in self._counts.items()
        ]
        return [*counts, *self.notes]
