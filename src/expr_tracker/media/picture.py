"""Images: arrays, image files, their bytes and Pillow images."""

from __future__ import annotations

import errno
import io
import os
from typing import TYPE_CHECKING, Any, Final

from expr_tracker.errors import NameRefusedError
from expr_tracker.media.content import StoredValue, check_size
from expr_tracker.media.header import ENDINGS, image_header
from expr_tracker.media.png import png_from_array
from expr_tracker.notices import offer_beside
from expr_tracker.store.paths import path_given
from expr_tracker.texts import shown

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Image"]

#: What Pillow writes as it is; other modes (LAB, HSV, floats) are converted first.
_MODES: Final = {
    "jpeg": frozenset({"L", "RGB", "CMYK"}),
    "png": frozenset({"1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA"}),
}


class Image(StoredValue):
    """One image, encoded when it is made.

    Args:
        data: a path, the bytes of an image file, a Pillow image, or an array ``[H, W]``,
            ``[H, W, 1]``, ``[H, W, 3]`` or ``[H, W, 4]`` of uint8, of bool, or of floats from 0 to
            1 (whatever NumPy takes for an array).
        caption: a text beside it.
        format: how a Pillow image is encoded: ``"png"``, ``"jpeg"``, ``"gif"`` or ``"webp"``.
            Arrays are always PNG; files and bytes stay what their header says they are.

    Raises:
        ValueError: a shape, type or range that is no image, an unknown format, a text that is no path,
            or more than `expr_tracker.media.MEDIA_BYTES_MAX` bytes.
        MissingExtraError: an array or lists, and NumPy is not installed.
        OSError: a path that cannot be read.
    """

    kind = "image"

    def __init__(self, data: Any, caption: str | None = None, format: str = "png") -> None:  # noqa: A002 - the word of every imaging library
        if not isinstance(format, str) or format not in ENDINGS:  # type: ignore[redundant-expr]
            raise ValueError(
                f"image format {shown(format)}: expected one of {', '.join(ENDINGS)}."
            )
        if isinstance(data, (str, os.PathLike)):
            content = _content_of_file(
                path_given(data, "data", NameRefusedError, expected="the path of an image")
            )
            named = str(data)
        elif isinstance(data, (bytes, bytearray, memoryview)):
            content = bytes(data)
            named = f"{len(content)} bytes"
        elif _is_pillow(data):
            content = _content_of_pillow(data, format)
            named = "a Pillow image"
        else:
            if format != "png":
                raise ValueError(f"image format {format!r}: arrays are stored as 'png'.")
            content = png_from_array(_on_host(data))[0]
            named = "an array"
        header = image_header(content)
        if header is None:
            raise ValueError(
                f"image of {named}: the content is no PNG, JPEG, GIF or WebP; it begins with "
                f"{content[:8]!r}."
            )
        super().__init__(
            content,
            ENDINGS[header.format],
            {
                "width": header.width,
                "height": header.height,
                "format": header.format,
                "caption": None if caption is None else str(caption),
            },
        )


def _content_of_file(path: Path) -> bytes:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        near = offer_beside(path)
        raise FileNotFoundError(errno.ENOENT, f"There is no such file.{near}", str(path)) from None
    # Asked first: a path to a checkpoint by mistake must not be read into memory.
    check_size(f"image file {path}", size)
    return path.read_bytes()


def _is_pillow(data: object) -> bool:
    return any(kind.__module__ == "PIL.Image" for kind in type(data).__mro__)


def _content_of_pillow(image: Any, encoding: str) -> bytes:
    modes = _MODES.get(encoding)
    if modes is not None and image.mode not in modes:
        image = image.convert("RGB")
    stream = io.BytesIO()
    image.save(stream, encoding)
    return stream.getvalue()


def _on_host(data: Any) -> Any:
    """Return a tensor as something NumPy can read: no gradient, not on a device."""
    for method in ("detach", "cpu"):
        moved = getattr(data, method, None)
        if callable(moved):
            data = moved()
    return data
