"""The bytes of a request: inflated with a limit, never more in memory than allowed."""

from __future__ import annotations

import asyncio
import gzip
import io
import tempfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import zstandard

from mapi.errors import Fault, InvalidError
from mapi.wire.enums import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from litestar import Request

__all__ = ["IMPORT_BYTES_MAX", "MERGE_PATCH", "read_body", "read_file"]

#: RFC 8878 recommends that decoders take 8 MiB; a frame may ask for gigabytes.
_ZSTD_WINDOW_MAX: Final = 8 << 20
#: The longest head of a frame.
_FRAME_HEAD_MAX: Final = 18
#: Of a frame that holds nothing of the content, behind its first byte.
_SKIPPED: Final = b"\x2a\x4d\x18"
#: The kind of a block.
_REPEATED: Final = 1
#: What is packed into less is inflated in a millisecond or two; others wait for nothing longer.
_AT_ONCE_BYTES: Final = 4 << 10

#: RFC 7396.
MERGE_PATCH: Final = "application/merge-patch+json"
_JSON: Final = "application/json"


async def read_body(
    request: Request[Any, Any, Any], *, bytes_max: int, kinds: Sequence[str] = (_JSON,)
) -> bytes:
    """Return the body as its sender wrote it, before compression.

    Args:
        request: its ``Content-Encoding`` may be gzip or zstd.
        bytes_max: limit of the inflated bytes; a bomb is left alone as soon as it is passed.
        kinds: the content types that are read; a request without one is of the first.

    Raises:
        InvalidError: too large, an unknown or a broken compression, or content that is no JSON.
    """
    kind = request.headers.get("content-type", kinds[0]).partition(";")[0].strip()
    if kind.lower() not in kinds:
        raise _refused(
            ProblemCode.UNSUPPORTED_MEDIA_TYPE,
            f"content of type {kind[:80]!r} is not read here; send {' or '.join(kinds)}",
        )
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    parts: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > bytes_max:
            raise _too_large(bytes_max, told=request.headers.get("content-length"))
        parts.append(chunk)
    body = b"".join(parts)
    if encoding in {"", "identity"}:
        return body
    if len(body) <= _AT_ONCE_BYTES:
        return _inflate(encoding, body, bytes_max)
    return await asyncio.to_thread(_inflate, encoding, body, bytes_max)


def _inflate(encoding: str, body: bytes, bytes_max: int) -> bytes:
    """Return the inflated body; of a bomb no more than a byte above the limit is made."""
    with _opened(encoding, io.BytesIO(body)) as source:
        parts: list[bytes] = []
        left = bytes_max + 1
        while left and (part := source.read(min(left, _READ_BYTES))):
            parts.append(part)
            left -= len(part)
    if not left:
        raise _too_large(bytes_max)
    return b"".join(parts)


@contextmanager
def _opened(encoding: str, packed: BinaryIO) -> Iterator[BinaryIO]:
    """Give what is in a packed body: one whole stream or several, one behind the other.

    Several are one body (RFC 1952, 2.2; RFC 8878, 3.1), as what packs in parallel or appends to a
    file makes them. Anything else behind the last one, and one that is cut, is refused.
    """
    try:
        if encoding == "gzip":
            with gzip.GzipFile(fileobj=packed) as source:
                yield cast("BinaryIO", source)
        elif encoding == "zstd":
            _check_frames(packed)
            packed.seek(0)
            inflater = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_MAX)
            yield inflater.stream_reader(packed, read_across_frames=True, closefd=False)
        else:
            raise _refused(
                ProblemCode.UNSUPPORTED_MEDIA_TYPE,
                f"the content encoding {encoding[:80]!r} is not read here; send gzip, zstd or none",
            )
    except EOFError:
        raise _cut(encoding) from None
    except (gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        raise _refused(
            ProblemCode.BODY_UNREADABLE, f"the body is no {encoding}: {error}"
        ) from None


def _check_frames(packed: BinaryIO) -> None:
    """Refuse what is not whole frames of zstd: its reader takes one that is cut for one that ends.

    https://datatracker.ietf.org/doc/html/rfc8878#section-3.1: only the heads of blocks are read.
    """
    size = packed.seek(0, io.SEEK_END)
    at = 0
    while at < size:
        packed.seek(at)
        head = packed.read(_FRAME_HEAD_MAX)
        if head[0] & 0xF0 == 0x50 and head[1:4] == _SKIPPED:
            at += 8 + int.from_bytes(head[4:8], "little")
            continue
        has_checksum = zstandard.get_frame_parameters(head).has_checksum
        at += zstandard.frame_header_size(head)
        is_last = False
        while not is_last:
            packed.seek(at)
            block = int.from_bytes(packed.read(3), "little")
            is_last, kind, length = bool(block & 1), block >> 1 & 3, block >> 3
            # A block that repeats one byte has just that.
            at += 3 + (1 if kind == _REPEATED else length)
            if at > size:
                raise _cut("zstd")
        at += 4 if has_checksum else 0
    if at != size or not size:
        raise _cut("zstd")


#: A run of the default budgets is 60 MB; a file larger than this is imported in several.
IMPORT_BYTES_MAX: Final = 4 << 30
_READ_BYTES: Final = 1 << 20


async def read_file(
    request: Request[Any, Any, Any], file: BinaryIO, *, bytes_max: int, kinds: Sequence[str]
) -> None:
    """Write the body into a file as it comes in, before compression.

    Args:
        request: its ``Content-Encoding`` may be gzip or zstd.
        file: gets the bytes.
        bytes_max: limit of the inflated bytes.
        kinds: the content types that are read.

    Raises:
        InvalidError: too large, another kind of content, or a broken compression.
    """
    kind = request.headers.get("content-type", kinds[0]).partition(";")[0].strip().lower()
    if kind not in kinds:
        raise _refused(
            ProblemCode.UNSUPPORTED_MEDIA_TYPE,
            f"content of type {kind[:80]!r} is not read here; send {' or '.join(kinds)}",
        )
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    with tempfile.TemporaryFile() as packed:
        target = file if encoding in {"", "identity"} else packed
        size = 0
        async for chunk in request.stream():
            size += len(chunk)
            if size > bytes_max:
                raise _too_large(bytes_max, told=request.headers.get("content-length"))
            await asyncio.to_thread(target.write, chunk)
        if target is packed:
            packed.seek(0)
            await asyncio.to_thread(_unpack, encoding, packed, file, bytes_max=bytes_max)


def _unpack(encoding: str, packed: BinaryIO, file: BinaryIO, *, bytes_max: int) -> None:
    with _opened(encoding, packed) as source:
        size = 0
        while chunk := source.read(_READ_BYTES):
            size += len(chunk)
            if size > bytes_max:
                raise _too_large(bytes_max)
            file.write(chunk)


def _cut(encoding: str) -> InvalidError:
    return _refused(ProblemCode.BODY_UNREADABLE, f"the {encoding} body ends too early")


def _too_large(bytes_max: int, *, told: str | None = None) -> InvalidError:
    """Return the refusal of a body; how long it is, is known where its sender has told."""
    is_told = told is not None and told.isascii() and told.isdigit() and len(told) < 20
    size = told if is_told and int(told or 0) > bytes_max else f"more than {bytes_max}"
    return _refused(
        ProblemCode.PAYLOAD_TOO_LARGE,
        f"the body has {size} bytes: at most {bytes_max} are read here; send it in parts",
    )


def _refused(code: ProblemCode, message: str) -> InvalidError:
    return InvalidError(Fault("", message, code=code))
