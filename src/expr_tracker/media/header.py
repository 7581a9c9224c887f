"""What an image file says about itself in its first bytes: format, width and height."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

__all__ = ["ENDINGS", "ImageHeader", "image_header"]

#: The file ending of each format that is stored.
ENDINGS: Final = {"png": "png", "jpeg": "jpg", "gif": "gif", "webp": "webp"}

#: Start-of-frame markers (ITU-T T.81, table B.1): all of C0 to CF but DHT, JPG and DAC.
_JPEG_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
#: A camera's JPEG has tens of segments before the frame.
_JPEG_SEGMENTS_MAX: Final = 1000


@dataclass(frozen=True)
class ImageHeader:
    """Format and size; the size is unknown where the file does not follow its own format."""

    format: str
    width: int | None = None
    height: int | None = None


def image_header(content: bytes) -> ImageHeader | None:
    """Return what ``content`` is; ``None`` if it is no PNG, JPEG, GIF or WebP."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return _sized("png", content, ">II", offset=16)
    if content.startswith(b"\xff\xd8\xff"):
        return _jpeg(content)
    if content.startswith((b"GIF87a", b"GIF89a")):
        return _sized("gif", content, "<HH", offset=6)
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return _webp(content)
    return None


def _sized(name: str, content: bytes, layout: str, *, offset: int) -> ImageHeader:
    if len(content) < offset + struct.calcsize(layout):
        return ImageHeader(name)
    width, height = struct.unpack_from(layout, content, offset)
    return ImageHeader(name, width, height)


def _jpeg(content: bytes) -> ImageHeader:
    """Walk the segments to the frame header (ITU-T T.81, B.2.2)."""
    offset = 2
    for _ in range(_JPEG_SEGMENTS_MAX):
        if len(content) < offset + 9 or content[offset] != 0xFF:
            break
        marker = content[offset + 1]
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", content, offset + 5)
            return ImageHeader("jpeg", width, height)
        if marker == 0xFF:  # a fill byte
            offset += 1
            continue
        offset += 2 + struct.unpack_from(">H", content, offset + 2)[0]
    return ImageHeader("jpeg")


def _webp(content: bytes) -> ImageHeader:
    """Read the three kinds of WebP (https://developers.google.com/speed/webp/docs/riff_container)."""
    kind = content[12:16]
    if kind == b"VP8X" and len(content) >= 30:
        width = 1 + int.from_bytes(content[24:27], "little")
        height = 1 + int.from_bytes(content[27:30], "little")
        return ImageHeader("webp", width, height)
    if kind == b"VP8L" and len(content) >= 25:
        bits = int.from_bytes(content[21:25], "little")
        return ImageHeader("webp", 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    if kind == b"VP8 " and len(content) >= 30:
        width, height = struct.unpack_from("<HH", content, 26)
        return ImageHeader("webp", width & 0x3FFF, height & 0x3FFF)
    return ImageHeader("webp")
