"""The structs of what a run says in words: params, tags, log lines, spans, documents."""

from datetime import datetime
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Raw, field

from mapi.wire.decoding import Answer, Request
from mapi.wire.enums import LogLevel, Source
from mapi.wire.metrics import PrecedingNumber, Rank, SequenceNumber, Step, StreamName, Writer
from mapi.wire.values import WireValue

__all__ = [
    "DOCUMENT_BYTES_MAX",
    "LOG_LINES_MAX",
    "SPANS_MAX",
    "Document",
    "DocumentFacts",
    "DocumentList",
    "DocumentPlace",
    "LogAppend",
    "LogLine",
    "LogLineFacts",
    "LogMessage",
    "LogPage",
    "ParamFacts",
    "Params",
    "ParamsBody",
    "SpanAppend",
    "SpanDepth",
    "SpanFacts",
    "SpanName",
    "SpanPage",
    "SpanRow",
    "SpanTrack",
    "TagFacts",
    "Tags",
    "TagsBody",
]

#: As many lines as a run keeps by default.
LOG_LINES_MAX = 10_000
#: Spans of one request; a follower sends more in several.
SPANS_MAX = 50_000
#: The environment or the config of a run, as JSON.
DOCUMENT_BYTES_MAX = 1 << 20

#: 16 KiB of UTF-8 is the rule (the room above checks it); no longer text can keep it.
LogMessage: TypeAlias = Annotated[str, Meta(max_length=16_384)]
SpanName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=500)]
SpanDepth: TypeAlias = Annotated[int, Meta(ge=0, le=2**31 - 1)]
SpanTrack: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class ParamsBody(Request, kw_only=True):
    """`POST /v1/runs/{id}/params`: all of them are written, or none."""

    params: Annotated[
        dict[str, Any],
        Meta(description="Texts, or any other JSON, whose text is kept."),
    ]


class ParamFacts(Answer, kw_only=True):
    """One param."""

    text: Annotated[str, Meta(description="As it was logged.")]
    number: Annotated[
        WireValue | None,
        Meta(description='The text as a number, where it is one; of `inf` it is `"Infinity"`.'),
    ]
    source: Annotated[Source, Meta(description="Which way it came.")]
    user: Annotated[str, Meta(description="Who wrote it.")] = ""
    time: Annotated[datetime, Meta(description="When it was written.")]


class Params(Answer, kw_only=True):
    """`GET /v1/runs/{id}/params`."""

    params: Annotated[dict[str, ParamFacts], Meta(description="By key.")]
    next_after: Annotated[str | None, Meta(description="Where to go on; null at the end.")] = None


class TagsBody(Request, kw_only=True):
    """`PUT /v1/runs/{id}/tags`: the last value of a key stays."""

    tags: Annotated[dict[str, str], Meta(description="By key; others stay as they are.")]


class TagFacts(Answer, kw_only=True):
    """How a tag came to be what it is."""

    source: Annotated[Source, Meta(description="Which way it came.")]
    user: Annotated[str, Meta(description="Who wrote it.")] = ""
    time: Annotated[datetime, Meta(description="When it was written.")]


class Tags(Answer, kw_only=True):
    """`GET /v1/runs/{id}/tags`."""

    tags: Annotated[dict[str, str], Meta(description="By key.")]
    written: Annotated[dict[str, TagFacts], Meta(description="Who wrote each, by key.")] = field(
        default_factory=dict
    )


class LogLine(Request, kw_only=True):
    """One line."""

    message: Annotated[LogMessage, Meta(description="At most 16 KiB of UTF-8.")]
    level: Annotated[LogLevel, Meta(description="How much it matters.")] = LogLevel.INFO
    fields: Annotated[dict[str, Any], Meta(description="What goes with it, as JSON.")] = field(
        default_factory=dict
    )
    time: Annotated[
        Annotated[datetime, Meta(tz=True)] | None, Meta(description="By default now.")
    ] = None


class LogAppend(Request, kw_only=True):
    """`POST /v1/runs/{id}/logs`."""

    lines: Annotated[
        list[LogLine], Meta(max_length=LOG_LINES_MAX, description="In the order they were logged.")
    ]
    stream: Annotated[StreamName, Meta(description="The stream that wrote.")] = ""
    rank: Annotated[Rank, Meta(description="The rank that wrote.")] = 0
    writer: Annotated[Writer | None, Meta(description="Who sends; needed with `seq`.")] = None
    seq: Annotated[
        SequenceNumber | None, Meta(description="Of the first line; the others follow it.")
    ] = None
    after: Annotated[
        PrecedingNumber | None,
        Meta(
            description="The number that this batch follows, -1 for the first: of a writer that stands elsewhere nothing is taken."
        ),
    ] = None


class LogLineFacts(Answer, kw_only=True):
    """One line of the log."""

    id: Annotated[int, Meta(description="Rises; `after=` takes it.")]
    time: Annotated[datetime, Meta(description="When it was logged.")]
    level: Annotated[LogLevel, Meta(description="How much it matters.")]
    message: Annotated[str, Meta(description="Plain text.")]
    fields: Annotated[Any, Meta(description="What goes with it, as JSON.")]
    source: Annotated[Source, Meta(description="Which way it came.")]
    stream: Annotated[str, Meta(description="The stream that wrote.")]
    rank: Annotated[int, Meta(description="The rank that wrote.")] = 0
    user: Annotated[str, Meta(description="Who wrote it.")] = ""


class LogPage(Answer, kw_only=True):
    """`GET /v1/runs/{id}/logs`."""

    lines: Annotated[list[LogLineFacts], Meta(description="Oldest first.")]
    next_after: Annotated[int | None, Meta(description="Where to go on reading.")]
    pruned_count: Annotated[
        int, Meta(description="Lines of the run that retention has deleted.")
    ] = 0


class SpanRow(Request, kw_only=True):
    """One span that ended."""

    name: Annotated[SpanName, Meta(description="Its path: `fwd/attn`.")]
    start_ns: Annotated[SequenceNumber, Meta(description="Nanoseconds since 1970 UTC.")]
    duration_ns: Annotated[SequenceNumber, Meta(description="How long it took.")]
    depth: Annotated[SpanDepth, Meta(description="How many it lies in.")] = 0
    track: Annotated[SpanTrack, Meta(description="The thread or task it ran in.")] = 0
    step: Annotated[Step | None, Meta(description="The open step.")] = None
    fields: Annotated[dict[str, Any] | None, Meta(description="Its attributes.")] = None


class SpanAppend(Request, kw_only=True):
    """`POST /v1/runs/{id}/spans`."""

    spans: Annotated[list[SpanRow], Meta(max_length=SPANS_MAX, description="In any order.")]
    stream: Annotated[StreamName, Meta(description="The stream that wrote.")] = ""
    rank: Annotated[Rank, Meta(description="The rank that wrote.")] = 0
    writer: Annotated[Writer | None, Meta(description="Who sends; needed with `seq`.")] = None
    seq: Annotated[
        SequenceNumber | None, Meta(description="Of the first span; the others follow it.")
    ] = None
    after: Annotated[
        PrecedingNumber | None,
        Meta(
            description="The number that this batch follows, -1 for the first: of a writer that stands elsewhere nothing is taken."
        ),
    ] = None


class SpanFacts(Answer, kw_only=True):
    """One span."""

    id: Annotated[int, Meta(description="Rises.")]
    stream: Annotated[str, Meta(description="The stream that wrote.")]
    rank: Annotated[int, Meta(description="The rank that wrote.")]
    name: Annotated[str, Meta(description="Its path.")]
    start_ns: Annotated[int, Meta(description="Nanoseconds since 1970 UTC.")]
    duration_ns: Annotated[int, Meta(description="How long it took.")]
    depth: Annotated[int, Meta(description="How many it lies in.")]
    track: Annotated[int, Meta(description="The thread or task it ran in.")]
    step: Annotated[int | None, Meta(description="The open step.")]
    fields: Annotated[Any, Meta(description="Its attributes, as JSON.")]


class SpanPage(Answer, kw_only=True):
    """`GET /v1/runs/{id}/spans`."""

    spans: Annotated[list[SpanFacts], Meta(description="By start.")]
    next_cursor: Annotated[str | None, Meta(description="Null at the end.")] = None
    pruned_count: Annotated[
        int, Meta(description="Spans of the run that retention has deleted.")
    ] = 0


class Document(Request, kw_only=True):
    """`PUT /v1/runs/{id}/environment` and `…/config`."""

    content: Annotated[dict[str, Any], Meta(description="At most 1 MiB of JSON.")]
    stream: Annotated[StreamName, Meta(description="The stream that wrote.")] = ""
    rank: Annotated[Rank, Meta(description="The rank that wrote.")] = 0


class DocumentFacts(Answer, kw_only=True):
    """`GET /v1/runs/{id}/environment` and `…/config`."""

    content: Annotated[Raw, Meta(description="The JSON that was put.")]
    stream: Annotated[str, Meta(description="The stream that wrote.")]
    rank: Annotated[int, Meta(description="The rank that wrote.")]
    time: Annotated[datetime, Meta(description="When it was put.")]


class DocumentPlace(Answer, kw_only=True):
    """A document that a run has, without what is in it."""

    name: Annotated[str, Meta(description="`environment` or `config`.")]
    stream: Annotated[str, Meta(description="The stream that wrote.")]
    rank: Annotated[int, Meta(description="The rank that wrote.")]
    time: Annotated[datetime, Meta(description="When it was put.")]


class DocumentList(Answer, kw_only=True):
    """`GET /v1/runs/{id}/documents`."""

    documents: Annotated[
        list[DocumentPlace], Meta(description="All of the run, by name, stream and rank.")
    ]
