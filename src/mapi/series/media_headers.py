"""What media content is, by its structure alone: PNG, JPEG, and small tables in JSON.

No pixel is decoded and no image library is in sight: the server reads lengths and a handful of
numbers. What a client says of the content counts for nothing. Wrong content raises an
`InvalidError` whose fault has the code ``MEDIA_REJECTED``, and nothing else.
"""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass
from typing import Annotated, Final, NoReturn

import msgspec

from mapi.errors import Fault, InvalidError
from mapi.wire.decoding import decode
from mapi.wire.enums import MediaFormat, WarningCode
from mapi.wire.media import MEDIA_BYTES_MAX

__all__ = [
    "IMAGE_PIXELS_MAX",
    "IMAGE_SIDE_MAX",
    "TABLE_COLUMNS_MAX",
    "TABLE_ROWS_MAX",
    "MediaHeader",
    "media_header",
]

#: What browsers draw on one canvas.
IMAGE_SIDE_MAX: Final = 32_767
#: 256 MiB of pixels in a browser that shows it; a small file can claim far more.
IMAGE_PIXELS_MAX: Final = 64 << 20
TABLE_ROWS_MAX: Final = 10_000
#: More columns than this are data, not a table to look at.
TABLE_COLUMNS_MAX: Final = 1_000

_PNG: Final = b"\x89PNG\r\n\x1a\n"
#: Bit depths by colour type: https://www.w3.org/TR/png-3/#11IHDR
_PNG_DEPTHS: Final = {0: {1, 2, 4, 8, 16}, 2: {8, 16}, 3: {1, 2, 4, 8}, 4: {8, 16}, 6: {8, 16}}
#: Writers cut the pixels into pieces of 8 KiB and more: 8 MiB have about 1 000.
_PNG_CHUNKS_MAX: Final = 65_536

#: Start of frame: all of C0 to CF but DHT, JPG and DAC (ITU-T T.81, table B.1).
_JPEG_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
#: RST0 to RST7, SOI, EOI and TEM have no length (T.81, B.1.1.3); none belongs before the scan.
_JPEG_BARE: Final = frozenset({0x01, *range(0xD0, 0xDA)})
_JPEG_FILL: Final = re.compile(rb"\xff+")
_JPEG_SCAN: Final = 0xDA
#: A camera's file has tens of segments before the scan.
_JPEG_SEGMENTS_MAX: Final = 1_000
_JPEG_DEPTHS: Final = frozenset({8, 12})

_Cell = str | bool | int | float | None


#: What people take for an image that is kept, by its first bytes.
_OTHERS: Final = {
    b"GIF8": "a GIF",
    b"RIFF": "a WebP or another RIFF file",
    b"BM": "a BMP",
    b"<svg": "an SVG",
    b"%PDF": "a PDF",
}


@dataclass(frozen=True, slots=True)
class MediaHeader:
    """What content is."""

    format: MediaFormat
    width: int
    """Pixels; of a table its columns."""
    height: int
    """Pixels; of a table its rows."""
    bit_depth: int | None = None
    """Bits of one channel of one pixel; a table has none."""


def media_header(content: bytes) -> MediaHeader:
    """Return what media content is.

    Raises:
        InvalidError: it is none of the formats, or broken, cut off or of absurd size.
    """
    if len(content) > MEDIA_BYTES_MAX:
        _refuse(f"the content has {len(content)} bytes: at most {MEDIA_BYTES_MAX}")
    if content.startswith(_PNG):
        return _png(content)
    if content.startswith(b"\xff\xd8"):
        return _jpeg(content)
    if content[:64].lstrip(b" \t\r\n").startswith(b"{"):
        return _table(content)
    other = next((name for begin, name in _OTHERS.items() if content.startswith(begin)), None)
    if other is not None:
        return _refuse(f"the content is {other}, which is not kept: send a PNG or a JPEG")
    begin = content[:8].hex(" ") or "nothing"
    text = content[:8].decode("ascii", "replace")
    if content and text.isprintable() and text.isascii():
        begin = f"the text {text}"
    return _refuse(f"the content begins with {begin}: neither PNG nor JPEG nor a table in JSON")


def _refuse(message: str) -> NoReturn:
    raise InvalidError(Fault("", message, code=WarningCode.MEDIA_REJECTED)) from None


def _checked(header: MediaHeader) -> MediaHeader:
    sides = f"{header.width} x {header.height} pixels"
    if not header.width or not header.height:
        _refuse(f"the image says it has {sides}")
    if max(header.width, header.height) > IMAGE_SIDE_MAX:
        _refuse(f"the image says it has {sides}: at most {IMAGE_SIDE_MAX} each way")
    if header.width * header.height > IMAGE_PIXELS_MAX:
        _refuse(f"the image says it has {sides}: at most {IMAGE_PIXELS_MAX} in all")
    return header


def _png(content: bytes) -> MediaHeader:
    """Read IHDR, and walk the chunks to IEND without looking into them."""
    chunks = _png_chunks(content)
    header = None
    has_pixels = False
    for name, at, size in chunks:
        if header is None:
            if name != b"IHDR" or size != 13:
                _refuse("the PNG does not begin with its header IHDR")
            header = _png_header(content, at)
        elif name == b"IHDR":
            _refuse("the PNG has a second header")
        elif name == b"IDAT":
            has_pixels = True
    if header is None or not has_pixels:
        _refuse("the PNG has no pixels")
    return _checked(header)


def _png_chunks(content: bytes) -> list[tuple[bytes, int, int]]:
    """Return name, place and size of each chunk; the last is IEND and ends the file."""
    chunks: list[tuple[bytes, int, int]] = []
    at = len(_PNG)
    while len(chunks) < _PNG_CHUNKS_MAX:
        if len(content) < at + 12:
            _refuse("the PNG is cut off")
        size, name = struct.unpack_from(">I4s", content, at)
        if len(content) < at + 12 + size:
            _refuse("the PNG is cut off")
        chunks.append((name, at + 8, size))
        at += 12 + size
        if name == b"IEND":
            if at != len(content):
                _refuse(f"{len(content) - at} bytes stand behind the end of the PNG")
            return chunks
    return _refuse(f"the PNG has more than {_PNG_CHUNKS_MAX} chunks")


def _png_header(content: bytes, at: int) -> MediaHeader:
    width, height, depth, colour, compression, filtering, interlacing, checksum = (
        struct.unpack_from(">IIBBBBBI", content, at)
    )
    if zlib.crc32(content[at - 4 : at + 13]) != checksum:
        _refuse("the header of the PNG does not match its checksum")
    if depth not in _PNG_DEPTHS.get(colour, ()):
        _refuse(f"a PNG of colour type {colour} has no bit depth {depth}")
    if compression or filtering or interlacing > 1:
        _refuse("the PNG names a compression, filter or interlacing that does not exist")
    return MediaHeader(MediaFormat.PNG, width, height, depth)


def _jpeg(content: bytes) -> MediaHeader:
    """Walk the segments to the scan, take the frame on the way, find the end behind it."""
    frame = None
    at = 2
    for _ in range(_JPEG_SEGMENTS_MAX):
        marker, at = _jpeg_marker(content, at)
        if marker in _JPEG_BARE:
            _refuse(f"the JPEG has the marker {marker:02x} before its pixels")
        if len(content) < at + 2:
            _refuse("the JPEG is cut off")
        size = int.from_bytes(content[at : at + 2])
        if size < 2 or len(content) < at + size:
            _refuse("the JPEG is cut off")
        if marker in _JPEG_FRAMES:
            if frame is not None:
                _refuse("the JPEG has a second frame")
            frame = _jpeg_frame(content[at : at + size])
        at += size
        if marker == _JPEG_SCAN:
            break
    else:
        _refuse(f"the JPEG has more than {_JPEG_SEGMENTS_MAX} segments before its pixels")
    if frame is None:
        _refuse("the JPEG has no frame before its pixels")
    # Cameras write previews and padding behind the end, so it need not end the file.
    if content.find(b"\xff\xd9", at) < 0:
        _refuse("the JPEG is cut off")
    return _checked(frame)


def _jpeg_marker(content: bytes, at: int) -> tuple[int, int]:
    """Return the marker at a place and where its segment begins; bytes ff before it fill up."""
    match = _JPEG_FILL.match(content, at)
    if match is None:
        _refuse("the JPEG has no marker where a segment should begin")
    at = match.end()
    if at == len(content):
        _refuse("the JPEG is cut off")
    if not content[at]:
        _refuse("the JPEG has no marker where a segment should begin")
    return content[at], at + 1


def _jpeg_frame(segment: bytes) -> MediaHeader:
    if len(segment) < 8:
        _refuse("the frame of the JPEG is cut off")
    size, depth, height, width, components = struct.unpack_from(">HBHHB", segment)
    if size != 8 + 3 * components or not 1 <= components <= 4:
        _refuse(f"the frame of the JPEG has {size} bytes for {components} components")
    if depth not in _JPEG_DEPTHS:
        _refuse(f"a JPEG has no bit depth {depth}")
    return MediaHeader(MediaFormat.JPEG, width, height, depth)


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    columns: Annotated[
        list[Annotated[str, msgspec.Meta(max_length=1_000)]],
        msgspec.Meta(min_length=1, max_length=TABLE_COLUMNS_MAX),
    ]
    data: Annotated[list[list[_Cell]], msgspec.Meta(max_length=TABLE_ROWS_MAX)]


def _table(content: bytes) -> MediaHeader:
    try:
        table = decode(content, _Table, bytes_max=MEDIA_BYTES_MAX)
    except InvalidError as error:
        fault = error.faults[0]
        raise InvalidError(
            Fault(fault.pointer, f"the table: {fault.message}", code=WarningCode.MEDIA_REJECTED)
        ) from None
    width = len(table.columns)
    for at, row in enumerate(table.data):
        if len(row) != width:
            message = f"the table: row {at} has {len(row)} cells for {width} columns"
            raise InvalidError(
                Fault(f"/data/{at}", message, code=WarningCode.MEDIA_REJECTED)
            ) from None
    return MediaHeader(MediaFormat.TABLE, width, len(table.data))
