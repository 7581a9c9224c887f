"""What has changed in a run since a position: the frames of its event stream.

A position is a change of the run and a line of its log. Every write stamps what it changed with the
run's change sequence, under the lock of the run's row, so whatever has a higher stamp than a
position is new behind it, and nothing that is new has a lower one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace
from psycopg.rows import dict_row

from mapi.access.identifiers import EXPERIMENT, MEDIA, RUN, text_from_uuid
from mapi.database.queries import query
from mapi.errors import NotFoundError
from mapi.series.name_map import name_from_series
from mapi.series.names import canonical_labels
from mapi.tracking.batch import SCALAR_STEP
from mapi.tracking.series import summary_from_row
from mapi.wire.enums import LogLevel, MediaFormat, RunStatus, Source, WarningCode
from mapi.wire.events import (
    DeletedFrame,
    LogFrame,
    StatusFrame,
    TrackingFrame,
    WarningFrame,
)
from mapi.wire.media import MediaFacts
from mapi.wire.notes import LogLineFacts, ParamFacts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from mapi.database.door import Connection

__all__ = [
    "END",
    "Delta",
    "Frame",
    "Position",
    "media_from_row",
    "read_deletion",
    "read_deletions",
    "read_delta",
    "read_head",
]

Frame = StatusFrame | TrackingFrame | LogFrame | WarningFrame | DeletedFrame

#: Heads of one frame; a reader who is behind more of them reads the run anew instead.
_HEADS_MAX: Final = 500
#: Lines of one frame; the next one follows at once.
_LINES_MAX: Final = 500
_POSITION: Final = re.compile(r"([0-9]{1,19})\.([0-9]{1,19})")
_INT64_MAX: Final = 2**63 - 1


class Position(NamedTuple):
    """How far a reader has followed a run."""

    change_seq: int = 0
    line_id: int = 0

    def __str__(self) -> str:
        """Return the id of a frame."""
        return f"{self.change_seq}.{self.line_id}"

    @staticmethod
    def from_text(text: str) -> Position | None:
        """Return the position that an id of a frame tells, or ``None`` if it is none."""
        found = _POSITION.fullmatch(text)
        if found is None:
            return None
        position = Position(int(found[1]), int(found[2]))
        return position if max(position) <= _INT64_MAX else None


#: Behind everything: whoever was told that a run is gone is not told again.
END: Final = Position(_INT64_MAX, _INT64_MAX)


@dataclass(frozen=True, slots=True)
class Head:
    """Where a run stands."""

    project_id: int
    position: Position
    status: StatusFrame
    removed_seq: int
    """The change that took something away last."""


@dataclass(frozen=True, slots=True)
class Delta:
    """What happened between two positions."""

    start: Position
    stop: Position
    frames: list[Frame]
    is_complete: bool
    """False: more log lines follow at once."""


async def read_head(connection: Connection, run_id: UUID) -> Head:
    """Return where a run stands.

    Raises:
        NotFoundError: there is no such run.
    """
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query("live.head"), {"run": run_id})
        row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("There is no such run.")
    experiment_id = row["experiment_id"]
    frame = StatusFrame(
        run=text_from_uuid(RUN, run_id),
        status=RunStatus(row["status"]),
        reason=row["reason"],
        time=row["time"],
        name=row["name"],
        experiment=None if experiment_id is None else text_from_uuid(EXPERIMENT, experiment_id),
        trashed=row["trashed"],
        etag=f'"{row["version"]}"',
    )
    position = Position(row["change_seq"], row["line_id"] or 0)
    return Head(row["project_id"], position, frame, row["removed_seq"])


async def read_deletion(connection: Connection, run_id: UUID) -> tuple[int, DeletedFrame] | None:
    """Return the project that a deleted run was in, and what is told of it.

    ``None``: there was none, or it is forgotten by now.
    """
    cursor = await connection.execute(query("live.deletion"), {"run": run_id})
    row = await cursor.fetchone()
    if row is None:
        return None
    return row[0], DeletedFrame(run=text_from_uuid(RUN, run_id), time=row[1])


async def read_deletions(
    connection: Connection, project_id: int, *, since_seconds: float, limit: int
) -> list[UUID]:
    """Return the runs of a project that were deleted for good since a time, oldest first.

    Args:
        connection: a transaction whose reach has the project.
        project_id: the project.
        since_seconds: since 1970 UTC.
        limit: how many at most.
    """
    cursor = await connection.execute(
        query("live.deletions"),
        {"project": project_id, "since": since_seconds, "limit": limit},
    )
    return [run_id for (run_id,) in await cursor.fetchall()]


async def read_delta(
    connection: Connection, run_id: UUID, start: Position, *, known: StatusFrame | None
) -> tuple[Delta, StatusFrame]:
    """Return what is new behind a position.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        start: how far the reader is.
        known: the status that the reader knows.

    Returns:
        What is new, and the status as it is now.

    Raises:
        NotFoundError: there is no such run.
    """
    # First: what is written meanwhile has a higher stamp, and is told again with the next delta.
    head = await read_head(connection, run_id)
    frames: list[Frame] = []
    # All but the time, which heartbeats move on.
    has_status = known is None or replace(known, time=head.status.time) != head.status
    if has_status:
        frames.append(head.status)
    lines: list[LogLineFacts] = []
    if head.position.line_id > start.line_id:
        lines = await _lines(connection, run_id, start.line_id)
    if head.position.change_seq > start.change_seq:
        tracking = await _tracking(connection, run_id, start=start, stop=head.position)
        warnings = await _warnings(connection, run_id, start)
        is_known = _has_heads(tracking) or bool(lines or warnings or has_status)
        if head.removed_seq > start.change_seq or not is_known:
            # Something is gone, or changed that has no stamp: an attempt, spans, a document.
            tracking.is_partial = True
        if _has_heads(tracking) or tracking.is_partial:
            frames.append(tracking)
        frames += warnings
    if lines:
        frames.append(LogFrame(run=head.status.run, lines=lines))
    is_complete = len(lines) < _LINES_MAX
    stop = Position(
        max(head.position.change_seq, start.change_seq),
        lines[-1].id if lines else max(head.position.line_id, start.line_id),
    )
    return Delta(start, stop, frames, is_complete), head.status


def _has_heads(frame: TrackingFrame) -> bool:
    return bool(frame.series or frame.params or frame.tags or frame.media or frame.is_partial)


async def _tracking(
    connection: Connection, run_id: UUID, *, start: Position, stop: Position
) -> TrackingFrame:
    frame = TrackingFrame(run=text_from_uuid(RUN, run_id), change_seq=stop.change_seq)
    found = {}
    for name in ("series", "params", "tags", "media"):
        rows = await _rows(connection, f"live.{name}", run_id=run_id, after=start.change_seq)
        if len(rows) > _HEADS_MAX:
            # Stamps do not say where a half of many was cut off, so nothing of them is told.
            frame.is_partial = True
            rows = []
        found[name] = rows
    frame.series = [summary_from_row(row) for row in found["series"]]
    frame.params = {
        row["key"]: ParamFacts(
            text=row["text"],
            number=row["number"],
            source=Source(row["source"]),
            user=row["user"],
            time=row["time"],
        )
        for row in found["params"]
    }
    frame.tags = {row["key"]: row["text"] for row in found["tags"]}
    frame.media = [media_from_row(row) for row in found["media"]]
    return frame


async def _rows(
    connection: Connection, name: str, *, run_id: UUID, after: int
) -> list[dict[str, Any]]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        about = {
            "run": run_id,
            "after": after,
            "limit": _HEADS_MAX + 1,
            "keys": None,
            "codes": [code.value for code in WarningCode],
        }
        await cursor.execute(query(name), about)
        return await cursor.fetchall()


async def _warnings(connection: Connection, run_id: UUID, start: Position) -> list[WarningFrame]:
    rows = await _rows(connection, "live.warnings", run_id=run_id, after=start.change_seq)
    return [
        WarningFrame(
            run=text_from_uuid(RUN, run_id),
            code=WarningCode(row["code"]),
            message=row["message"],
            counts=row["fields"].get("counts", {}),
        )
        for row in rows[:_HEADS_MAX]
    ]


async def _lines(connection: Connection, run_id: UUID, after: int) -> list[LogLineFacts]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        about = {"run": run_id, "after": after, "limit": _LINES_MAX}
        await cursor.execute(query("live.lines"), about)
        rows = await cursor.fetchall()
    return [
        LogLineFacts(
            **{**row, "level": LogLevel(row["level"]), "source": Source(row["source"])},
        )
        for row in rows
    ]


def media_from_row(row: Mapping[str, Any]) -> MediaFacts:
    """Return what a row of ``run_media`` says."""
    return MediaFacts(
        id=text_from_uuid(MEDIA, row["id"]),
        key=row["key"],
        labels=row["labels"],
        name=name_from_series(row["key"], canonical_labels(row["labels"]), kept=row["full_name"]),
        step=None if row["step"] == SCALAR_STEP else row["step"],
        format=MediaFormat(row["format"]),
        size_bytes=row["size_bytes"],
        sha256=row["sha256"].hex(),
        width=row["width"],
        height=row["height"],
        caption=row["caption"],
        time=row["time"],
        source=Source(row["source"]),
        user=row["user"],
    )
