"""The frames of the event streams; a frame's id is the change sequence up to which it tells."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, field

from mapi.wire.decoding import Answer
from mapi.wire.enums import RunStatus, WarningCode
from mapi.wire.media import MediaFacts
from mapi.wire.metrics import SeriesSummary
from mapi.wire.notes import LogLineFacts, ParamFacts

__all__ = [
    "DeletedFrame",
    "LogFrame",
    "ProjectFrame",
    "StatusFrame",
    "TrackingFrame",
    "WarningFrame",
]


class StatusFrame(Answer, kw_only=True, tag="status", tag_field="type"):
    """The run's status changed, or what else stands at its head: name, experiment, trash."""

    run: Annotated[str, Meta(description="The run.")]
    status: Annotated[RunStatus, Meta(description="Where it stands now.")]
    reason: Annotated[str | None, Meta(description="Why it ended.")] = None
    time: Annotated[datetime, Meta(description="When.")]
    name: Annotated[str, Meta(description="What people call it.")] = ""
    experiment: Annotated[str | None, Meta(description="The experiment's id.")] = None
    trashed: Annotated[datetime | None, Meta(description="Since when it is in the trash.")] = None
    etag: Annotated[
        str, Meta(description="Of the run's version: what PATCH can change, the note too.")
    ] = ""


class DeletedFrame(Answer, kw_only=True, tag="deleted", tag_field="type"):
    """The run was deleted for good: the last frame of its stream."""

    run: Annotated[str, Meta(description="The run.")]
    time: Annotated[datetime, Meta(description="When.")]


class TrackingFrame(Answer, kw_only=True, tag="tracking", tag_field="type"):
    """The heads of what changed in the log since the last frame; not the points."""

    run: Annotated[str, Meta(description="The run.")]
    change_seq: Annotated[int, Meta(description="Up to which change it tells.")]
    series: Annotated[list[SeriesSummary], Meta(description="Series with new points.")] = field(
        default_factory=list
    )
    params: Annotated[dict[str, ParamFacts], Meta(description="New params.")] = field(
        default_factory=dict
    )
    tags: Annotated[dict[str, str | None], Meta(description="New values; null is gone.")] = field(
        default_factory=dict
    )
    media: Annotated[list[MediaFacts], Meta(description="New media items.")] = field(
        default_factory=list
    )
    is_partial: Annotated[bool, Meta(description="More changed than fits: read it anew.")] = False


class LogFrame(Answer, kw_only=True, tag="log", tag_field="type"):
    """New log lines."""

    run: Annotated[str, Meta(description="The run.")]
    lines: Annotated[list[LogLineFacts], Meta(description="Oldest first.")]


class WarningFrame(Answer, kw_only=True, tag="warning", tag_field="type"):
    """A warning of the run is new, or its counts have grown."""

    run: Annotated[str, Meta(description="The run.")]
    code: Annotated[WarningCode, Meta(description="What it is about.")]
    message: Annotated[str, Meta(description="For people.")]
    counts: Annotated[dict[str, int], Meta(description="What was dropped, by budget.")] = field(
        default_factory=dict
    )


class ProjectFrame(Answer, kw_only=True, tag="runs", tag_field="type"):
    """`GET /v1/events?project=`: runs whose row in a table may have changed."""

    runs: Annotated[list[str], Meta(description="Ids.")]
    deleted: Annotated[list[str], Meta(description="Ids of those that are gone for good.")] = (
        field(default_factory=list)
    )
    is_partial: Annotated[bool, Meta(description="More changed than fits: read it anew.")] = False
