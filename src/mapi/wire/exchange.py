"""The lines of an export: a run as JSON lines, which an import takes back.

    {"type":"export","version":1}
    {"type":"experiment", ...} {"type":"view", ...}   before the runs and views that belong to it
    {"type":"run", ...}        each run, and below it, in this order, what it has:
    {"type":"life", ...}       what happened to it, oldest first
    {"type":"attempt", ...}    before the points that they wrote
    {"type":"param", ...} {"type":"tag", ...} {"type":"document", ...}
    {"type":"pruned", ...}     what is known of points that retention deleted: of one series and attempt
    {"type":"points", ...}     columns of one series and attempt, by step; a long one in several lines
    {"type":"log", ...} {"type":"span", ...}   in the order they were logged
    {"type":"media", ...}      what it is; the bytes travel separately
    {"type":"end","lines":N}   N counts every line before: without it the file is torn

What belongs to a run names it. An export of all runs of a project begins with all its experiments and
saved views; one of chosen runs has each experiment, with its views, before the first run that is in it.
"""

from datetime import datetime
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, field

from mapi.wire.decoding import Request
from mapi.wire.enums import (
    Budget,
    LifeKind,
    LogLevel,
    MediaFormat,
    RunKind,
    RunStatus,
    Source,
    WarningCode,
)
from mapi.wire.metrics import (
    AttemptNumber,
    ForeignName,
    MetricKey,
    Rank,
    SequenceNumber,
    Step,
    StreamName,
)
from mapi.wire.notes import LogMessage, SpanDepth, SpanName, SpanTrack
from mapi.wire.runs import EndReason, ExternalId, RunId, RunName, RunNote
from mapi.wire.values import WireValue

__all__ = [
    "EXPORT_VERSION",
    "LINE_BYTES_MAX",
    "AttemptLine",
    "DocumentLine",
    "EndLine",
    "ExperimentLine",
    "ExportLine",
    "HeaderLine",
    "LifeLine",
    "LogRecord",
    "MediaLine",
    "ParamLine",
    "PointsLine",
    "PrunedContent",
    "PrunedLine",
    "PrunedSummary",
    "RunLine",
    "SpanLine",
    "TagLine",
    "ViewLine",
]

#: Rises when a reader of before could misread a line.
EXPORT_VERSION = 1
#: The longest line that we write: 5 000 points are 0.3 MB, a document or a spec 1 MiB.
LINE_BYTES_MAX = 8 << 20

_Time: TypeAlias = Annotated[datetime, Meta(tz=True)]
#: What a float counts exactly; so many of the largest values have a sum that is finite.
_Points: TypeAlias = Annotated[int, Meta(ge=1, le=2**53)]
#: What goes on counting here cannot pass what a column holds.
_Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
#: A user, or a service token, whose name is as long at most.
_UserName: TypeAlias = Annotated[str, Meta(max_length=250)]
_Labels: TypeAlias = dict[str, str]
_GroupId: TypeAlias = Annotated[str, Meta(max_length=100)]
_GroupName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]
_Search: TypeAlias = Annotated[str, Meta(max_length=16_384)]


class HeaderLine(Request, kw_only=True, tag="export", tag_field="type"):
    """The first line."""

    version: Annotated[int, Meta(description="Of the form.")] = EXPORT_VERSION


class EndLine(Request, kw_only=True, tag="end", tag_field="type"):
    """The last line."""

    lines: Annotated[int, Meta(ge=0, description="How many stand before it.")]


class ExperimentLine(Request, kw_only=True, tag="experiment", tag_field="type"):
    """An experiment."""

    experiment: Annotated[_GroupId, Meta(description="Its id.")]
    name: Annotated[_GroupName, Meta(description="Unique in the project.")]
    description: Annotated[str, Meta(max_length=20_000, description="Markdown.")]
    archived: Annotated[_Time | None, Meta(description="Since then it takes no new runs.")]
    created: Annotated[_Time, Meta(description="When it was made.")]


class ViewLine(Request, kw_only=True, tag="view", tag_field="type"):
    """A saved view."""

    view: Annotated[_GroupId, Meta(description="Its id.")]
    name: Annotated[_GroupName, Meta(description="Unique in the project.")]
    filter: Annotated[_Search, Meta(description="As it was saved.")]
    sort: Annotated[_Search, Meta(description="As it was saved.")]
    columns: Annotated[_Search, Meta(description="As it was saved.")]
    experiment: Annotated[_GroupId | None, Meta(description="Whose view it is; it stands before.")]
    created: Annotated[_Time, Meta(description="When it was made.")]


class PrunedContent(Request, kw_only=True):
    """What retention had deleted of a run for its age, in all; at least one thing."""

    time: Annotated[_Time, Meta(description="When it did so for the last time.")]
    points: Annotated[_Count, Meta(description="Their summaries are kept.")] = 0
    log_lines: Annotated[_Count, Meta(description="How many.")] = 0
    spans: Annotated[_Count, Meta(description="How many.")] = 0
    media_items: Annotated[_Count, Meta(description="How many.")] = 0


class RunLine(Request, kw_only=True, tag="run", tag_field="type"):
    """A run."""

    run: Annotated[RunId, Meta(description="Its id.")]
    kind: Annotated[RunKind, Meta(description="What it is.")]
    status: Annotated[RunStatus, Meta(description="Where it stood.")]
    name: Annotated[RunName, Meta(description="What people call it.")]
    note: Annotated[RunNote, Meta(description="Markdown.")]
    reason: Annotated[EndReason | None, Meta(description="Why it ended.")]
    parent: Annotated[RunId | None, Meta(description="The run above.")]
    retry_of: Annotated[RunId | None, Meta(description="The run that it tries again.")] = None
    experiment: Annotated[
        Annotated[str, Meta(max_length=200)] | None, Meta(description="Its experiment's name.")
    ]
    user: Annotated[_UserName, Meta(description="Who made it.")]
    external_id: Annotated[ExternalId | None, Meta(description="What its writer calls it.")]
    created: Annotated[_Time, Meta(description="When the platform heard of it.")]
    started: Annotated[_Time | None, Meta(description="When it began.")]
    finished: Annotated[_Time | None, Meta(description="When it ended.")]
    spec: Annotated[dict[str, Any] | None, Meta(description="What was executed.")]
    pruned: Annotated[
        PrunedContent | None, Meta(description="What retention had deleted of it, in all.")
    ] = None
    dropped: Annotated[
        dict[Budget, _Count],
        Meta(description="What was not kept, by budget; the one that was hit first stands first."),
    ] = field(default_factory=dict)


class LifeLine(Request, kw_only=True, tag="life", tag_field="type"):
    """Something that happened to a run; a kind has the members that it needs, and the others as they are here."""

    run: Annotated[RunId, Meta(description="Its run.")]
    id: Annotated[int, Meta(ge=1, le=2**53, description="Rises within the run.")]
    time: Annotated[_Time, Meta(description="When.")]
    kind: Annotated[LifeKind, Meta(description="What.")]
    user: Annotated[_UserName, Meta(description="Who did it; empty: the platform.")] = ""
    before: Annotated[
        Annotated[str, Meta(max_length=200)] | None,
        Meta(description="The status, name or experiment's id before."),
    ] = None
    after: Annotated[
        Annotated[str, Meta(max_length=200)] | None,
        Meta(description="The status, name or experiment's id since."),
    ] = None
    reason: Annotated[EndReason | None, Meta(description="Why the status changed.")] = None
    code: Annotated[WarningCode | None, Meta(description="Of a warning.")] = None
    message: Annotated[str, Meta(max_length=20_000, description="Of a warning.")] = ""
    counts: Annotated[
        dict[str, _Count], Meta(description="What was dropped, by budget, or pruned.")
    ] = field(default_factory=dict)
    days: Annotated[
        Annotated[int, Meta(ge=0, le=2**31 - 1)] | None,
        Meta(description="Of a pruning: the run had ended longer ago."),
    ] = None
    rule: Annotated[
        Annotated[str, Meta(max_length=100)] | None,
        Meta(description="Of a pruning: the setting that asked for it."),
    ] = None


class AttemptLine(Request, kw_only=True, tag="attempt", tag_field="type"):
    """An attempt of a stream and rank."""

    run: Annotated[RunId, Meta(description="Its run.")]
    stream: Annotated[StreamName, Meta(description="Empty is the default one.")]
    rank: Annotated[Rank, Meta(description="The rank.")]
    number: Annotated[AttemptNumber, Meta(description="1 for the first.")]
    from_step: Annotated[Step | None, Meta(description="Where it took over.")]
    source: Annotated[Source, Meta(description="Which way it came.")]
    started: Annotated[_Time, Meta(description="When it began.")]
    finished: Annotated[_Time | None, Meta(description="When it ended.")]
    status: Annotated[RunStatus | None, Meta(description="How it ended.")]


class ParamLine(Request, kw_only=True, tag="param", tag_field="type"):
    """A param."""

    run: Annotated[RunId, Meta(description="Its run.")]
    key: Annotated[str, Meta(max_length=250, description="Its key.")]
    text: Annotated[str, Meta(max_length=65_536, description="As it was logged.")]
    source: Annotated[Source, Meta(description="Which way it came.")]
    user: Annotated[_UserName, Meta(description="Who wrote it.")] = ""
    time: Annotated[_Time, Meta(description="When it was written.")]


class TagLine(Request, kw_only=True, tag="tag", tag_field="type"):
    """A tag."""

    run: Annotated[RunId, Meta(description="Its run.")]
    key: Annotated[str, Meta(max_length=250, description="Its key.")]
    text: Annotated[str, Meta(max_length=5_000, description="Its value.")]
    source: Annotated[Source, Meta(description="Which way it came.")]
    user: Annotated[_UserName, Meta(description="Who wrote it.")] = ""
    time: Annotated[_Time, Meta(description="When it was written.")]


class DocumentLine(Request, kw_only=True, tag="document", tag_field="type"):
    """The environment or the config of a stream and rank."""

    run: Annotated[RunId, Meta(description="Its run.")]
    name: Annotated[str, Meta(max_length=250, description="`environment` or `config`.")]
    stream: Annotated[StreamName, Meta(description="The stream that wrote.")]
    rank: Annotated[Rank, Meta(description="The rank that wrote.")]
    content: Annotated[dict[str, Any], Meta(description="At most 1 MiB of JSON.")]
    time: Annotated[
        _Time | None, Meta(description="When it was put; null is when it is imported.")
    ] = None


class PrunedSummary(Request, kw_only=True):
    """What the summary of a series said of points that are gone."""

    count: Annotated[_Points, Meta(description="How many.")]
    nonfinite_count: Annotated[int, Meta(ge=0, le=2**53, description="Of them NaN or infinite.")]
    first_time: Annotated[_Time, Meta(description="The earliest time of a point.")]
    last_time: Annotated[_Time, Meta(description="The latest.")]
    last_step: Annotated[Step, Meta(description="The highest step.")]
    last_value: Annotated[WireValue, Meta(description="The value there.")]
    min_value: Annotated[float | None, Meta(description="Of the finite values; null without any.")]
    min_step: Annotated[Step | None, Meta(description="The lowest step that has it.")]
    max_value: Annotated[float | None, Meta(description="Of the finite values; null without any.")]
    max_step: Annotated[Step | None, Meta(description="The lowest step that has it.")]
    finite_sum: Annotated[float, Meta(description="Of finite values below 1e290.")]
    huge_sum: Annotated[float, Meta(description="Of the finite others, made smaller by 2^64.")]


class PrunedLine(Request, kw_only=True, tag="pruned", tag_field="type"):
    """Points of one series that one attempt wrote, and that retention deleted."""

    run: Annotated[RunId, Meta(description="Their run.")]
    key: Annotated[MetricKey, Meta(description="The key of the metric.")]
    labels: Annotated[_Labels, Meta(description="With those for stream and rank.")]
    name: Annotated[
        ForeignName | None,
        Meta(description="What it stands for, where the labels hold only the beginning of it."),
    ] = None
    attempt: Annotated[AttemptNumber, Meta(description="Which attempt wrote them.")]
    source: Annotated[Source, Meta(description="Which way they came.")]
    user: Annotated[_UserName, Meta(description="Who wrote it.")] = ""
    last_step: Annotated[Step, Meta(description="The highest step of one that is gone.")]
    summary: Annotated[
        PrunedSummary | None,
        Meta(description="Of those of all attempts; with the newest of them."),
    ] = None


class PointsLine(Request, kw_only=True, tag="points", tag_field="type"):
    """Points of one series that one attempt wrote, in columns of one length."""

    run: Annotated[RunId, Meta(description="Their run.")]
    key: Annotated[MetricKey, Meta(description="The key of the metric.")]
    labels: Annotated[_Labels, Meta(description="With those for stream and rank.")]
    name: Annotated[
        ForeignName | None,
        Meta(description="What it stands for, where the labels hold only the beginning of it."),
    ] = None
    attempt: Annotated[AttemptNumber, Meta(description="Which attempt wrote them.")]
    source: Annotated[Source, Meta(description="Which way they came.")]
    user: Annotated[_UserName, Meta(description="Who wrote it.")] = ""
    steps: Annotated[list[Step | None], Meta(max_length=50_000, description="Null is the scalar.")]
    times: Annotated[
        list[int], Meta(max_length=50_000, description="Whole microseconds since 1970 UTC.")
    ]
    values: Annotated[
        list[WireValue],
        Meta(max_length=50_000, description='Numbers, "NaN", "Infinity" or "-Infinity".'),
    ]


class LogRecord(Request, kw_only=True, tag="log", tag_field="type"):
    """A log line."""

    run: Annotated[RunId, Meta(description="Its run.")]
    time: Annotated[_Time, Meta(description="When it was logged.")]
    level: Annotated[LogLevel, Meta(description="How much it matters.")]
    message: Annotated[LogMessage, Meta(description="Plain text.")]
    fields: Annotated[dict[str, Any] | None, Meta(description="What goes with it.")]
    source: Annotated[Source, Meta(description="Which way it came.")]
    user: Annotated[_UserName, Meta(description="Who wrote it.")] = ""
    stream: Annotated[StreamName, Meta(description="The stream that wrote.")]
    rank: Annotated[Rank, Meta(description="The rank that wrote.")]


class SpanLine(Request, kw_only=True, tag="span", tag_field="type"):
    """A span."""

    run: Annotated[RunId, Meta(description="Its run.")]
    stream: Annotated[StreamName, Meta(description="The stream that wrote.")]
    rank: Annotated[Rank, Meta(description="The rank that wrote.")]
    name: Annotated[SpanName, Meta(description="Its path.")]
    start_ns: Annotated[SequenceNumber, Meta(description="Nanoseconds since 1970 UTC.")]
    duration_ns: Annotated[SequenceNumber, Meta(description="How long it took.")]
    depth: Annotated[SpanDepth, Meta(description="How many it lies in.")]
    track: Annotated[SpanTrack, Meta(description="Its thread or task.")]
    step: Annotated[Step | None, Meta(description="The open step.")]
    fields: Annotated[dict[str, Any] | None, Meta(description="Its attributes.")]


class MediaLine(Request, kw_only=True, tag="media", tag_field="type"):
    """A media item, without its bytes."""

    run: Annotated[RunId, Meta(description="Its run.")]
    key: Annotated[str, Meta(max_length=64, description="What it is called.")]
    labels: Annotated[_Labels, Meta(description="By name.")]
    step: Annotated[Step | None, Meta(description="Where it belongs.")]
    format: Annotated[MediaFormat, Meta(description="What it is.")]
    size_bytes: Annotated[int, Meta(description="Of the content.")]
    sha256: Annotated[str, Meta(max_length=64, description="Of the content.")]
    caption: Annotated[str, Meta(max_length=2_000, description="Plain text.")] = field(default="")
    name: Annotated[
        ForeignName | None,
        Meta(description="In full, where the labels have only its beginning."),
    ] = None


ExportLine: TypeAlias = (
    HeaderLine
    | ExperimentLine
    | ViewLine
    | RunLine
    | LifeLine
    | AttemptLine
    | ParamLine
    | TagLine
    | DocumentLine
    | PrunedLine
    | PointsLine
    | LogRecord
    | SpanLine
    | MediaLine
    | EndLine
)
