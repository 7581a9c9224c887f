"""The structs of media items: announcing an upload, recording it, listing what a run has."""

from datetime import datetime
from typing import Annotated, TypeAlias

from msgspec import Meta, field

from mapi.wire.decoding import Answer, Request
from mapi.wire.enums import MediaFormat, Source
from mapi.wire.metrics import (
    PrecedingNumber,
    Rank,
    SequenceNumber,
    Step,
    StreamName,
    Writer,
)

__all__ = [
    "CAPTION_LENGTH_MAX",
    "MEDIA_BYTES_MAX",
    "MediaFacts",
    "MediaPage",
    "MediaRecord",
    "UploadAnswer",
    "UploadRequest",
]

#: One item; a budget may be lower.
MEDIA_BYTES_MAX = 8 << 20
CAPTION_LENGTH_MAX = 2_000

# The pattern alone would let a line break through at the end.
_Sha256: TypeAlias = Annotated[str, Meta(min_length=64, max_length=64, pattern="^[0-9a-f]{64}$")]
_Size: TypeAlias = Annotated[int, Meta(ge=1, le=MEDIA_BYTES_MAX)]
_Key: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
_Caption: TypeAlias = Annotated[str, Meta(max_length=CAPTION_LENGTH_MAX)]


class UploadRequest(Request, kw_only=True):
    """`POST /v1/runs/{id}/media/uploads`: what will be sent, so that nothing else can be."""

    size_bytes: Annotated[_Size, Meta(description="Exactly as many bytes as will come.")]
    sha256: Annotated[_Sha256, Meta(description="Of the bytes, in small hexadecimal digits.")]
    format: Annotated[MediaFormat, Meta(description="What they are.")]


class UploadAnswer(Answer, kw_only=True):
    """How to send the bytes: one request, once, before it expires."""

    method: Annotated[str, Meta(description="`POST` or `PUT`, as the store has it.")]
    url: Annotated[str, Meta(description="Where to.")]
    headers: Annotated[dict[str, str], Meta(description="To be sent exactly so.")]
    fields: Annotated[dict[str, str], Meta(description="Of a form; empty: the body is the bytes.")]
    key: Annotated[str, Meta(description="What to record the item with.")]
    expires: Annotated[datetime, Meta(description="Until then.")]


class MediaRecord(Request, kw_only=True):
    """`POST /v1/runs/{id}/media`: record what was uploaded."""

    upload_key: Annotated[
        Annotated[str, Meta(min_length=1, max_length=512)],
        Meta(description="The `key` of the upload."),
    ]
    sha256: Annotated[_Sha256, Meta(description="Of the bytes, in small hexadecimal digits.")]
    key: Annotated[_Key, Meta(description="What the item is called, like a metric.")]
    labels: Annotated[dict[str, str], Meta(description="At most 8.")] = field(default_factory=dict)
    step: Annotated[Step | None, Meta(description="Where it belongs; may be none.")] = None
    caption: Annotated[_Caption, Meta(description="Plain text below it.")] = ""
    time: Annotated[
        Annotated[datetime, Meta(tz=True)] | None, Meta(description="By default now.")
    ] = None
    stream: Annotated[StreamName, Meta(description="The stream that wrote.")] = ""
    rank: Annotated[Rank, Meta(description="The rank that wrote.")] = 0
    writer: Annotated[Writer | None, Meta(description="Who sends; needed with `seq`.")] = None
    seq: Annotated[
        SequenceNumber | None,
        Meta(description="Rises with each item of the writer; lower ones are not kept again."),
    ] = None
    after: Annotated[
        PrecedingNumber | None,
        Meta(
            description="The number that this item follows, -1 for the first: of a writer that stands elsewhere it is not kept."
        ),
    ] = None


class MediaFacts(Answer, kw_only=True):
    """One media item."""

    id: Annotated[str, Meta(description="Its id; the content stands below it.")]
    key: Annotated[str, Meta(description="What it is called.")]
    labels: Annotated[dict[str, str], Meta(description="By name.")]
    name: Annotated[str, Meta(description="What it is called where it was logged, in full.")]
    step: Annotated[int | None, Meta(description="Where it belongs.")]
    format: Annotated[MediaFormat, Meta(description="What it is.")]
    size_bytes: Annotated[int, Meta(description="Of the content.")]
    sha256: Annotated[str, Meta(description="Of the content.")]
    width: Annotated[int | None, Meta(description="Pixels; of a table its columns.")]
    height: Annotated[int | None, Meta(description="Pixels; of a table its rows.")]
    caption: Annotated[str, Meta(description="Plain text.")]
    time: Annotated[datetime, Meta(description="When it was logged.")]
    source: Annotated[Source, Meta(description="Which way it came.")]
    user: Annotated[str, Meta(description="Who wrote it.")] = ""


class MediaPage(Answer, kw_only=True):
    """`GET /v1/runs/{id}/media`."""

    media: Annotated[list[MediaFacts], Meta(description="By key, labels, step.")]
    next_cursor: Annotated[str | None, Meta(description="Null at the end.")] = None
    pruned_count: Annotated[
        int, Meta(description="Items of the run that retention has deleted.")
    ] = 0
