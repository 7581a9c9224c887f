"""Markers: the lines that say where an attempt begins and where one ended by itself.

The only code that builds or reads their members; `lines` specifies them beside the other lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from expr_tracker.store.seconds import seconds_in

if TYPE_CHECKING:
    from expr_tracker.row import Row

__all__ = [
    "REWOUND",
    "Beginning",
    "End",
    "begin_marker",
    "end_marker",
    "is_marker",
    "number_of",
    "read_marker",
    "renumbered",
]

#: The status of an attempt that its own process left for the next one; no run ends with it.
REWOUND: Final = "rewound"


@dataclass(frozen=True)
class Beginning:
    """What the marker of a new attempt says."""

    number: int
    from_step: int | None
    time: float | None
    pid: int | None
    clock_back: float | None = None


@dataclass(frozen=True)
class End:
    """What the marker of an attempt's own end says."""

    number: int
    status: str | None
    time: float | None


def begin_marker(
    number: int, from_step: int | None, *, time: float, pid: int | None, clock_back: float = 0.0
) -> Row:
    """Return the marker line that begins attempt ``number``.

    Args:
        number: 2 for the first attempt that has a marker.
        from_step: earlier attempts' rows at this step and above are superseded.
        time: Unix seconds.
        pid: the process that writes the attempt; ``None`` where nobody knows.
        clock_back: by how many seconds its clock is behind the newest time before it.
    """
    marker = {"_attempt": number, "_from_step": from_step, "_time": time, "_pid": pid}
    return {**marker, "_clock_back": clock_back} if clock_back > 0 else marker


def end_marker(number: int, status: str, *, time: float) -> Row:
    """Return the marker line that ends attempt ``number`` with ``status`` at ``time``."""
    return {"_attempt_end": number, "_status": status, "_time": time}


def number_of(marker: Row) -> int:
    """Return the number of the attempt that a marker is of."""
    number: int = marker[_number_member(marker)]
    return number


def renumbered(marker: Row, number: int) -> Row:
    """Return a marker that says the same of attempt ``number``."""
    return {**marker, _number_member(marker): number}


def _number_member(marker: Row) -> str:
    return "_attempt" if isinstance(marker.get("_attempt"), int) else "_attempt_end"


def is_marker(row: Row) -> bool:
    """Say whether a decoded line is one of the format's own that carries no metrics."""
    return isinstance(row.get("_attempt"), int) or isinstance(row.get("_attempt_end"), int)


def read_marker(row: Row) -> Beginning | End | None:
    """Return what a decoded line says of attempts; ``None`` if it is no marker.

    Members of the wrong type count as missing: other programs wrote what they liked.
    """
    number, seconds = row.get("_attempt"), seconds_in(row.get("_time"))
    if isinstance(number, int):
        from_step, pid = row.get("_from_step"), row.get("_pid")
        return Beginning(
            number,
            from_step if isinstance(from_step, int) else None,
            seconds,
            pid if isinstance(pid, int) else None,
            seconds_in(row.get("_clock_back")),
        )
    number, status = row.get("_attempt_end"), row.get("_status")
    if isinstance(number, int):
        return End(number, status if isinstance(status, str) else None, seconds)
    return None
