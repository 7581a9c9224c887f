"""Values of rows that name a file of the run's media → where the item belongs: pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.row import RESERVED_NAMES
from expr_tracker.store.joined import valid_step
from mapi.follow.instants import is_taken, time_us_of
from mapi.follow.line_files import rows_of_lines
from mapi.follow.rows import is_media
from mapi.follow.texts import name_to_keep, storable
from mapi.series.name_map import series_from_name

if TYPE_CHECKING:
    from expr_tracker.row import Row
    from mapi.series.names import Labels

__all__ = ["MEDIA_MARK", "MediaReference", "references_of_lines"]

#: In every line that refers to a file.
MEDIA_MARK: Final = b'"_type"'


@dataclass(frozen=True)
class MediaReference:
    """One item that a row refers to."""

    key: str
    labels: Labels
    name: str | None
    """In full, where the labels have only its beginning."""
    step: int
    time_us: int
    has_time: bool
    """Whether the time is the row's: the platform would not take its own."""
    caption: str
    path: str
    """Below the run's directory."""
    sha256: str

    @property
    def is_table(self) -> bool:
        """Whether it is a table, and no image."""
        return self.path.endswith(".table.json")


def references_of_lines(lines: bytes, *, now_us: int) -> list[MediaReference]:
    """Return the items that whole lines of a metrics file refer to, in their order.

    Those at steps below 0 are left out: the platform has no such steps.

    Args:
        lines: with their ends.
        now_us: the present in microseconds since 1970 UTC; the time of rows without one.
    """
    if MEDIA_MARK not in lines:
        return []
    named = b"\n".join(line for line in lines.split(b"\n") if MEDIA_MARK in line)
    rows, _ = rows_of_lines(named)
    return [
        _reference(name, value, row, now_us=now_us)
        for row in rows
        if (step := valid_step(row)) is not None and step >= 0
        for name, value in row.items()
        if name not in RESERVED_NAMES and is_media(value)
    ]


def _reference(name: str, value: dict[str, Any], row: Row, *, now_us: int) -> MediaReference:
    key, labels = series_from_name(name)
    time_us = time_us_of(row.get("_time"))
    has_time = time_us is not None and is_taken(time_us, now_us=now_us)
    caption = value.get("caption")
    return MediaReference(
        key=key,
        labels=labels,
        name=name_to_keep(name, labels),
        step=row["_step"],
        time_us=time_us if time_us is not None and has_time else now_us,
        has_time=has_time,
        caption=storable(caption, []) if isinstance(caption, str) else "",
        path=value["path"],
        sha256=value["sha256"].removeprefix("sha256:"),
    )
