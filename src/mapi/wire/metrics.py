"""The structs of the log's numbers: what writes points, and what answers curves and summaries."""

from datetime import datetime
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, field

from mapi.errors import Fault, InvalidError
from mapi.wire.decoding import Answer, Request
from mapi.wire.enums import Source
from mapi.wire.values import WireValue

__all__ = [
    "ATTEMPT_MAX",
    "FOREIGN_NAME_LENGTH_MAX",
    "POINTS_MAX",
    "RANK_MAX",
    "STEP_MAX",
    "STREAM_LENGTH_MAX",
    "WRITER_LENGTH_MAX",
    "AttemptNumber",
    "BatchAnswer",
    "BatchFault",
    "Bucket",
    "ColumnsPage",
    "Curve",
    "CurvePoint",
    "ForeignName",
    "MetricKey",
    "MetricsBody",
    "PointColumns",
    "PointRow",
    "PrecedingNumber",
    "PrunedPoints",
    "Rank",
    "SequenceNumber",
    "SeriesColumns",
    "SeriesPage",
    "SeriesSummary",
    "Step",
    "StreamName",
    "Writer",
    "WriterPosition",
    "Writers",
    "check_numbering",
]

#: Points of one batch: with 8 MiB, whichever is met first. A batch is one transaction.
POINTS_MAX = 50_000
#: What a column holds; a step is the user's own number, and may be as large.
STEP_MAX = 2**63 - 1

Step: TypeAlias = Annotated[int, Meta(ge=0, le=STEP_MAX)]
SequenceNumber: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
#: Where a writer stands; -1 before its first batch.
PrecedingNumber: TypeAlias = Annotated[int, Meta(ge=-1, le=2**63 - 1)]
#: A process of those that write one run together; 0 is the first.
RANK_MAX = 2**31 - 1
Rank: TypeAlias = Annotated[int, Meta(ge=0, le=RANK_MAX)]
ATTEMPT_MAX = 2**31 - 1
#: 1 is the first.
AttemptNumber: TypeAlias = Annotated[int, Meta(ge=1, le=ATTEMPT_MAX)]
#: Who sends: what it sent before under a sequence number is not taken twice.
WRITER_LENGTH_MAX = 500
Writer: TypeAlias = Annotated[str, Meta(min_length=1, max_length=WRITER_LENGTH_MAX)]
#: As long as the value of a label, which it becomes.
STREAM_LENGTH_MAX = 200
StreamName: TypeAlias = Annotated[str, Meta(max_length=STREAM_LENGTH_MAX)]
MetricKey: TypeAlias = Annotated[str, Meta(max_length=64)]
#: A foreign name goes through the name map; a longer one than this is no name but a mistake.
FOREIGN_NAME_LENGTH_MAX = 10_000
ForeignName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=FOREIGN_NAME_LENGTH_MAX)]


class PointRow(Request, kw_only=True):
    """One point of one series."""

    key: Annotated[MetricKey | None, Meta(description="The key of the metric; or `name`.")] = None
    name: Annotated[
        ForeignName | None,
        Meta(
            description="A name of another tool in place of `key`; it goes through the name map."
        ),
    ] = None
    labels: Annotated[dict[str, str], Meta(description="At most 8, values 1 to 200 long.")] = (
        field(default_factory=dict)
    )
    step: Annotated[Step | None, Meta(description="Without a step the point is a scalar.")] = None
    time: Annotated[
        datetime | int | None,
        Meta(description="RFC 3339 or whole microseconds since 1970 UTC; by default now."),
    ] = None
    value: Annotated[WireValue, Meta(description='A number, "NaN", "Infinity" or "-Infinity".')]


class SeriesColumns(Request, kw_only=True):
    """Points of one series in columns of one length."""

    key: Annotated[MetricKey | None, Meta(description="The key of the metric; or `name`.")] = None
    name: Annotated[
        ForeignName | None,
        Meta(
            description="A name of another tool in place of `key`; it goes through the name map."
        ),
    ] = None
    labels: Annotated[dict[str, str], Meta(description="At most 8, values 1 to 200 long.")] = (
        field(default_factory=dict)
    )
    steps: Annotated[
        list[Step | None] | None,
        Meta(description="One a value; null is a scalar. Without the column all are scalars."),
    ] = None
    times: Annotated[
        list[int] | None,
        Meta(description="Whole microseconds since 1970 UTC, one a value; by default now."),
    ] = None
    values: Annotated[
        list[WireValue], Meta(description='Numbers, "NaN", "Infinity" or "-Infinity".')
    ]


class MetricsBody(Request, kw_only=True):
    """`POST /v1/runs/{id}/metrics`: points as rows or as columns, not both."""

    points: Annotated[
        list[PointRow] | None, Meta(description="Rows, in the order they were logged.")
    ] = None
    series: Annotated[
        list[SeriesColumns] | None, Meta(description="Columns: half the bytes, twice the rate.")
    ] = None
    stream: Annotated[
        StreamName, Meta(description="The stream of the run that wrote; empty is the default one.")
    ] = ""
    rank: Annotated[Rank, Meta(description="The rank that wrote.")] = 0
    attempt: Annotated[
        AttemptNumber | None,
        Meta(description="The attempt of the stream and rank; by default the newest."),
    ] = None
    writer: Annotated[Writer | None, Meta(description="Who sends; needed with `seq`.")] = None
    seq: Annotated[
        SequenceNumber | None,
        Meta(description="Rises with each batch of the writer; lower ones are not taken again."),
    ] = None
    after: Annotated[
        PrecedingNumber | None,
        Meta(
            description="The number that this batch follows, -1 for the first: of a writer that stands elsewhere nothing is taken."
        ),
    ] = None


def check_numbering(
    writer: str | None, seq: int | None, after: int | None, *, pointer_of: str = ""
) -> None:
    """Refuse a batch that says too little of where it stands in what its writer sends.

    Args:
        writer: who sends.
        seq: its number.
        after: the number that it follows.
        pointer_of: what they are members of, as a JSON pointer.

    Raises:
        InvalidError: writer and seq are not given together, or the number that it follows is none
            that it can follow.
    """
    if (writer is None) != (seq is None):
        missing = "writer" if writer is None else "seq"
        raise InvalidError(Fault(f"{pointer_of}/{missing}", "writer and seq are given together"))
    if after is None:
        return
    if seq is None:
        raise InvalidError(Fault(f"{pointer_of}/seq", "what follows another has a seq of its own"))
    if after > seq:
        raise InvalidError(
            Fault(
                f"{pointer_of}/after",
                f"{after} is above seq, {seq}: a batch follows what came before it",
            )
        )


class BatchFault(Answer, kw_only=True):
    """What became of one item that was not kept."""

    index: Annotated[int, Meta(description="The item, counted from 0 in the order of the body.")]
    code: Annotated[str, Meta(description="The budget that was spent.")]
    pointer: Annotated[str, Meta(description="JSON pointer to the item.")]


class BatchAnswer(Answer, kw_only=True):
    """What became of a batch."""

    accepted: Annotated[int, Meta(description="Items that are new in the log.")] = 0
    duplicates: Annotated[
        int, Meta(description="Items that were there; the first value stays.")
    ] = 0
    conflicts: Annotated[int, Meta(description="Duplicates that came with another value.")] = 0
    rejected: Annotated[int, Meta(description="Items over a budget; they are not kept.")] = 0
    errors: Annotated[list[BatchFault], Meta(description="The first 20 rejected items.")] = field(
        default_factory=list
    )
    warnings: Annotated[list[str], Meta(description="What a person should know.")] = field(
        default_factory=list
    )
    accepted_seq: Annotated[
        int | None, Meta(description="The highest sequence number taken from the writer.")
    ] = None


class WriterPosition(Answer, kw_only=True):
    """How far the server has taken one writer's batches."""

    writer: Annotated[str, Meta(description="As it named itself.")]
    seq: Annotated[int, Meta(description="The highest sequence number taken.")]


class Writers(Answer, kw_only=True):
    """`GET /v1/runs/{id}/writers`."""

    writers: Annotated[list[WriterPosition], Meta(description="By name.")]


class PrunedPoints(Answer, kw_only=True):
    """What retention has deleted of the points of a series."""

    count: Annotated[
        int | None,
        Meta(description="How many of all attempts together; null where one was asked for."),
    ]
    last_step: Annotated[int, Meta(description="Up to this step there were some.")]


class SeriesSummary(Answer, kw_only=True):
    """What is known of one series without its points."""

    key: Annotated[str, Meta(description="The key of the metric.")]
    labels: Annotated[dict[str, str], Meta(description="By name.")]
    name: Annotated[str, Meta(description="What it is called where it was logged, in full.")]
    attempt: Annotated[int, Meta(description="The newest attempt that wrote the series.")]
    is_scalar: Annotated[bool, Meta(description="One value without a step.")]
    count: Annotated[
        int, Meta(description="Points that were kept, those that retention has deleted too.")
    ]
    nonfinite_count: Annotated[int, Meta(description="Of them NaN or infinite.")]
    first_time: Annotated[datetime, Meta(description="The earliest time of a point.")]
    last_time: Annotated[datetime, Meta(description="The latest time of a point.")]
    last_step: Annotated[int | None, Meta(description="The highest step; null for a scalar.")]
    last_value: Annotated[WireValue, Meta(description="The value at the highest step.")]
    min_value: Annotated[float | None, Meta(description="Of the finite values; null without any.")]
    min_step: Annotated[int | None, Meta(description="The lowest step that has it.")]
    max_value: Annotated[float | None, Meta(description="Of the finite values; null without any.")]
    max_step: Annotated[int | None, Meta(description="The lowest step that has it.")]
    mean: Annotated[float | None, Meta(description="Of the finite values; null without any.")]
    source: Annotated[Source, Meta(description="Which way it came.")]
    user: Annotated[str, Meta(description="Who began it.")] = ""
    pruned: Annotated[
        PrunedPoints | None,
        Meta(
            description="Points that all this speaks of, and that nobody can read any more; null: none."
        ),
    ] = None


class SeriesPage(Answer, kw_only=True):
    """`GET /v1/runs/{id}/metrics`."""

    series: Annotated[list[SeriesSummary], Meta(description="By key, then labels.")]
    next_cursor: Annotated[str | None, Meta(description="For the next page; null at the end.")] = (
        None
    )


class CurvePoint(msgspec.Struct, array_like=True):
    """`[step, time, value]`: a curve has thousands, so they carry no names."""

    step: Annotated[int | None, Meta(description="Null for a scalar.")]
    time: Annotated[int, Meta(description="Whole microseconds since 1970 UTC.")]
    value: Annotated[WireValue, Meta(description="Exactly as logged.")]


class Bucket(Answer, kw_only=True):
    """What the points between two steps come to; both ends belong to it."""

    first_step: Annotated[
        int | None, Meta(description="The lowest step of a point in it; null is a scalar's.")
    ]
    last_step: Annotated[int | None, Meta(description="The highest.")]
    first: Annotated[WireValue, Meta(description="The value at the lowest step.")]
    last: Annotated[WireValue, Meta(description="The value at the highest step.")]
    min: Annotated[float | None, Meta(description="Of the finite values; null without any.")]
    max: Annotated[float | None, Meta(description="Of the finite values; null without any.")]
    min_step: Annotated[int | None, Meta(description="Where the smallest stands.")] = None
    max_step: Annotated[int | None, Meta(description="Where the largest stands.")] = None
    first_x: Annotated[float | None, Meta(description="The lowest place on the axis.")] = None
    last_x: Annotated[float | None, Meta(description="The highest.")] = None
    count: Annotated[int, Meta(description="Points in it.")]
    nonfinite_count: Annotated[int, Meta(description="Of them NaN or infinite.")]
    nan_count: Annotated[int, Meta(description="Of these NaN.")]
    infinity_count: Annotated[
        int, Meta(description="Of these Infinity; the others are -Infinity.")
    ]
    mean: Annotated[
        float | None,
        Meta(
            description="Of the finite values, as floats sum up; null without any, and where one is beyond 1e290."
        ),
    ] = None


class PointColumns(Answer, kw_only=True):
    """Points of one series in columns of one length, in the shape in which they are logged."""

    key: Annotated[str, Meta(description="The key of the metric.")]
    labels: Annotated[dict[str, str], Meta(description="By name.")]
    steps: Annotated[list[int | None], Meta(description="Ascending; null for a scalar.")]
    times: Annotated[list[int], Meta(description="Whole microseconds since 1970 UTC.")]
    values: Annotated[list[WireValue], Meta(description="Exactly as logged.")]
    pruned: Annotated[
        PrunedPoints | None,
        Meta(description="Points of the range that retention may have deleted; null: none."),
    ] = None


class ColumnsPage(Answer, kw_only=True):
    """`GET /v1/runs/{id}/metrics/columns`: one series after the other, the last one perhaps not to its end."""

    series: Annotated[
        list[PointColumns],
        Meta(
            description="By key; those with points in the range, or with some that retention has deleted."
        ),
    ]
    next_cursor: Annotated[
        str | None,
        Meta(
            description="For the next page, which may go on in the midst of a series; null at the end. A page without a series may have one."
        ),
    ] = None


class Curve(Answer, kw_only=True):
    """`GET /v1/runs/{id}/metrics/points`: the points when they fit, else buckets of them."""

    key: Annotated[str, Meta(description="The key of the metric.")]
    labels: Annotated[dict[str, str], Meta(description="By name.")]
    attempt: Annotated[int | None, Meta(description="Null: each step from its newest attempt.")]
    points_total: Annotated[int, Meta(description="Points in the range that was asked for.")]
    points: Annotated[list[CurvePoint] | None, Meta(description="By step.")] = None
    buckets: Annotated[list[Bucket] | None, Meta(description="By step, or by `x`.")] = None
    x: Annotated[
        str | None, Meta(description="The axis: `time` or `run_time` in seconds, or a series.")
    ] = None
    xs: Annotated[
        list[WireValue | None] | None,
        Meta(description="The place of each point on the axis; null where it has none."),
    ] = None
    points_without_x: Annotated[
        int, Meta(description="Points that lie in no bucket, as the axis has no place for them.")
    ] = 0
    next_cursor: Annotated[str | None, Meta(description="For the next points.")] = None
    pruned: Annotated[
        PrunedPoints | None,
        Meta(description="Points of the range that retention may have deleted; null: none."),
    ] = None
