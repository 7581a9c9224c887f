"""How long what is kept, and what was deleted or would be."""

from __future__ import annotations

from dataclasses import dataclass, fields

from mapi.series.budgets import point_bytes

__all__ = ["Freed", "Retention"]


@dataclass(frozen=True, slots=True)
class Retention:
    """How long what is kept; ``None`` is for ever."""

    trash_days: int = 30
    tracking_days: int | None = None
    media_days: int | None = None


@dataclass(frozen=True, slots=True)
class Freed:
    """What was deleted, or would be."""

    purged_runs: int = 0
    pruned_runs: int = 0
    kept_runs: int = 0
    """Runs that are old enough, and that a rule keeps."""
    points: int = 0
    compacted_points: int = 0
    """Of ``points``, those that stood in chunks."""
    log_lines: int = 0
    spans: int = 0
    media_items: int = 0
    log_bytes: int = 0
    span_bytes: int = 0
    media_bytes: int = 0

    def __add__(self, other: Freed) -> Freed:
        """Return both together."""
        return Freed(
            **{
                one.name: getattr(self, one.name) + getattr(other, one.name)
                for one in fields(Freed)
            }
        )

    @property
    def rows(self) -> int:
        """Rows of all kinds, the runs' own included."""
        return self.purged_runs + self.points + self.log_lines + self.spans + self.media_items

    @property
    def size_bytes(self) -> int:
        """Bytes: of media exactly, of rows about."""
        points = point_bytes(self.points, compacted=self.compacted_points)
        return points + self.log_bytes + self.span_bytes + self.media_bytes
