"""What people log as images, figures and tables, as the bytes that the platform keeps.

How pixels, figures and frames become files is the library's to know (`expr_tracker.media`); whether
the platform takes such a file, `mapi.series.media_headers`', as on the server.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec

from mapi.errors import Fault, InvalidError
from mapi.sdk.arguments import checked_path, shown
from mapi.sdk.checks import plain
from mapi.series.media_headers import media_header
from mapi.wire.enums import MediaFormat
from mapi.wire.media import MEDIA_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mapi.sdk.calls import Producer, Progress
    from mapi.sdk.checks import Time

__all__ = [
    "CONTENT_TYPES",
    "MediaAbout",
    "content_of_figure",
    "content_of_file",
    "content_of_image",
    "content_of_table",
]

#: What each format is sent as.
CONTENT_TYPES = {
    MediaFormat.PNG: "image/png",
    MediaFormat.JPEG: "image/jpeg",
    MediaFormat.TABLE: "application/vnd.mapi.table+json",
}


class MediaAbout(TypedDict, total=False):
    """What can be said of an item beside its content."""

    step: int | None
    """Where it belongs."""
    labels: Mapping[str, str] | None
    """What tells it apart."""
    caption: str
    """Plain text below it."""
    time: Time | None
    """By default now."""
    producer: Producer | None
    """Who of the run writes, where it has several."""
    progress: Progress | None
    """Takes the bytes that went, and how many there are."""


def content_of_file(content: Any, *, at: str = "/content") -> tuple[bytes, MediaFormat]:
    """Return bytes, or those of a file, that are a PNG, a JPEG or a table already.

    Raises:
        InvalidError: they are none, or too many.
        OSError: the file cannot be read.
    """
    if isinstance(content, str | os.PathLike):
        with Path(checked_path(content, at=at)).open("rb") as file:
            content = file.read(MEDIA_BYTES_MAX + 1)
    if not isinstance(content, bytes | bytearray | memoryview):
        raise InvalidError(Fault(at, f"{shown(content)} is neither bytes nor the path of a file"))
    return _checked(bytes(content), at)


def content_of_image(image: Any) -> tuple[bytes, MediaFormat]:
    """Return the bytes of an image: a file's path, bytes, a Pillow image, an array, an `Image`.

    Raises:
        InvalidError: it is none, or no PNG or JPEG of a size that is kept.
        OSError: the file cannot be read.
    """
    if isinstance(image, str | os.PathLike | bytes):
        # The library keeps more formats than the platform: this says at once what is kept here.
        content, kind = content_of_file(image, at="/image")
        if kind is MediaFormat.TABLE:
            raise InvalidError(Fault("/image", "the content is a table, which log_table keeps"))
        return content, kind
    from expr_tracker.media import Image  # noqa: PLC0415 - an extra, or heavy

    def made() -> Image:
        return image if isinstance(image, Image) else Image(image)

    return _checked(_bytes_of(made, "/image"), "/image")


def content_of_figure(figure: Any) -> tuple[bytes, MediaFormat]:
    """Return a matplotlib figure as a PNG.

    Raises:
        InvalidError: it is none.
    """
    from expr_tracker.media import Figure  # noqa: PLC0415 - an extra, or heavy

    if not hasattr(figure, "savefig") and hasattr(figure, "to_plotly_json"):
        raise InvalidError(
            Fault("/figure", "a plotly figure is no image: send figure.to_image() as an image")
        )

    def made() -> Figure:
        return figure if isinstance(figure, Figure) else Figure(figure)

    return _checked(_bytes_of(made, "/figure"), "/figure")


def content_of_table(columns: Iterable[Any] | None, rows: Any) -> tuple[bytes, MediaFormat]:
    """Return a table as JSON: names and rows, or a data frame as ``rows``.

    Raises:
        InvalidError: it is none, or too large.
    """
    from expr_tracker.media import Table  # noqa: PLC0415 - an extra, or heavy

    def made() -> Table:
        if isinstance(rows, Table) and columns is None:
            return rows
        is_frame = hasattr(rows, "columns") and columns is None
        return Table(frame=rows) if is_frame else Table(columns, rows)

    document = msgspec.json.decode(_bytes_of(made, "/table"))
    shaped = {"columns": document["columns"], "data": _with_words(document)}
    return _checked(msgspec.json.encode(shaped), "/table")


def _with_words(document: dict[str, Any]) -> Any:
    """Return the cells, with the words for what is no number: the library lists those apart."""
    cells = document["data"]
    for at, word in (document.get("_nonfinite") or {}).items():
        _, _, row, column = at.split("/")[:4]
        cells[int(row)][int(column)] = word
    return plain(cells)


def _bytes_of(make: Any, at: str) -> bytes:
    try:
        content: bytes = make().content
    except (ValueError, TypeError) as error:
        raise InvalidError(Fault(at, str(error))) from None
    return content


def _checked(content: bytes, at: str) -> tuple[bytes, MediaFormat]:
    if len(content) > MEDIA_BYTES_MAX:
        raise InvalidError(
            Fault(at, f"it has {len(content)} bytes: at most {MEDIA_BYTES_MAX}; make it smaller")
        )
    try:
        return content, media_header(content).format
    except InvalidError as error:
        raise InvalidError(
            [Fault(f"{at}{one.pointer}", one.message) for one in error.faults]
        ) from None
