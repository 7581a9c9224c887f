"""The bytes of a request: inflated with a limit, never more in memory than allowed."""

from __future__ import annotations

import asyncio
import gzip
import io
import tempfile
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import zstandard

from mapi.errors import Fault, InvalidError
from mapi.wire.enums import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar import Request

__all__ = ["IMPORT_BYTES_MAX", "MERGE_PATCH", "read_body", "read_file"]

#: zlib's own: 16 more than the window size reads the gzip frame (RFC 1952).
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
#: RFC 8878 recommends that decoders take 8 MiB; a frame may ask for gigabytes.
_ZSTD_WINDOW_MAX: Final = 8 << 20


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
            raise _too_large(bytes_max)
        parts.append(chunk)
    body = b"".join(parts)
    return body if encoding in {"", "identity"} else _inflate(encoding, body, bytes_max)


def _inflate(encoding: str, body: bytes, bytes_max: int) -> bytes:
    """Return the inflated body; of a bomb no more than a byte above the limit is made."""
    try:
        if encoding == "gzip":
            inflater = zlib.decompressobj(_GZIP_WINDOW)
            inflated = inflater.decompress(body, bytes_max + 1)
            is_whole = inflater.eof
        elif encoding == "zstd":
            reader = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_MAX).stream_reader(
                io.BytesIO(body)
            )
            inflated = reader.read(bytes_max + 1)
            is_whole = True
        else:
            raise _refused(
                ProblemCode.UNSUPPORTED_MEDIA_TYPE,
                f"the content encoding {encoding[:80]!r} is not read here; send gzip, zstd or none",
            )
    except (zlib.error, zstandard.ZstdError) as error:
        raise _refused(
            ProblemCode.BODY_UNREADABLE, f"the body is no {encoding}: {error}"
        ) from None
    if len(inflated) > bytes_max:
        raise _too_large(bytes_max)
    if not is_whole:
        raise _refused(ProblemCode.BODY_UNREADABLE, f"the {encoding} body ends too early")
    return inflated


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
                raise _too_large(bytes_max)
            await asyncio.to_thread(target.write, chunk)
        if target is packed:
            packed.seek(0)
            await asyncio.to_thread(_unpack, encoding, packed, file, bytes_max=bytes_max)


def _unpack(encoding: str, packed: BinaryIO, file: BinaryIO, *, bytes_max: int) -> None:
    try:
        if encoding == "gzip":
            source: Any = gzip.GzipFile(fileobj=packed)
        elif encoding == "zstd":
            source = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_MAX).stream_reader(
                packed
            )
        else:
            raise _refused(
                ProblemCode.UNSUPPORTED_MEDIA_TYPE,
                f"the content encoding {encoding[:80]!r} is not read here; send gzip, zstd or none",
            )
        size = 0
        while chunk := source.read(_READ_BYTES):
            size += len(chunk)
            if size > bytes_max:
                raise _too_large(bytes_max)
            file.write(chunk)
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise _refused(
            ProblemCode.BODY_UNREADABLE, f"the body is no {encoding}: {error}"
        ) from None


def _too_large(bytes_max: int) -> InvalidError:
    return _refused(
        ProblemCode.PAYLOAD_TOO_LARGE,
        f"the body has more than {bytes_max} bytes; send it in parts",
    )


def _refused(code: ProblemCode, message: str) -> InvalidError:
    return InvalidError(Fault("", message, code=code))
