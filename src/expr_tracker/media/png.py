"""Arrays of pixels as PNG (ISO/IEC 15948, https://www.w3.org/TR/png-3/), by hand.

With the standard library alone, so that an array can be logged where neither Pillow nor matplotlib
is installed. NumPy is there wherever an array is.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, Final

from expr_tracker.errors import MissingExtraError

__all__ = ["png_from_array"]

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
#: Colour types of the header: grey, red-green-blue, and the latter with alpha.
_COLOUR_TYPES: Final = {1: 0, 3: 2, 4: 6}
#: Filter 2 ("up"): each row minus the one above. Smooth images shrink to half of the unfiltered.
_FILTER_UP: Final = 2
#: A photograph of 512 x 512: 37 ms and 498 KiB; level 6 takes 76 ms for 487 KiB, on the caller.
_COMPRESSION_LEVEL: Final = 3
#: 16 k x 16 k; a header could say 2**31, which no viewer opens.
_SIDE_PIXELS_MAX: Final = 16_384

_RULE: Final = (
    "an image is [height, width] or [height, width, 1, 3 or 4] of uint8, of bool, or of floats "
    "from 0 to 1"
)


def png_from_array(value: Any) -> tuple[bytes, int, int]:
    """Return an array as PNG, with its width and height.

    Args:
        value: ``[H, W]``, ``[H, W, 1]``, ``[H, W, 3]`` or ``[H, W, 4]``.

    Raises:
        MissingExtraError: NumPy is not installed.
        ValueError: shape, type or range break the rule; the message names all three.
    """
    try:
        import numpy as np  # noqa: PLC0415 - optional
    except ImportError:
        # Whoever has an array has it; lists of numbers do without.
        raise MissingExtraError(
            "an image of an array or of lists needs NumPy: pip install numpy. Image files and "
            "their bytes do without."
        ) from None

    array = np.asarray(value)
    height, width, channels = _checked_shape(array)
    pixels = _bytes_of(np, array).reshape(height, width * channels)
    rows = np.empty((height, 1 + width * channels), dtype=np.uint8)
    rows[:, 0] = _FILTER_UP
    rows[0, 1:] = pixels[0]
    # Unsigned bytes wrap around, as the filter is defined (PNG 9.2).
    np.subtract(pixels[1:], pixels[:-1], out=rows[1:, 1:])
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    content = (
        _SIGNATURE
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(rows.data, _COMPRESSION_LEVEL))
        + _chunk(b"IEND", b"")
    )
    return content, width, height


def _checked_shape(array: Any) -> tuple[int, int, int]:
    shape = tuple(array.shape)
    channels = 1 if len(shape) == 2 else shape[2] if len(shape) == 3 else 0
    if channels not in _COLOUR_TYPES:
        hint = ""
        if len(shape) == 3 and shape[0] in _COLOUR_TYPES:
            hint = " Channels come last: use array.transpose(1, 2, 0)."
        raise ValueError(f"image array of shape {shape}, {array.dtype}: {_RULE}.{hint}")
    if not all(1 <= side <= _SIDE_PIXELS_MAX for side in shape[:2]):
        raise ValueError(
            f"image array of shape {shape}: a side has 1 to {_SIDE_PIXELS_MAX} pixels."
        )
    return shape[0], shape[1], channels


def _bytes_of(np: Any, array: Any) -> Any:
    """Return the array's values as bytes, in memory order."""
    kind = array.dtype.kind
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    if kind == "b":
        return array.astype(np.uint8) * np.uint8(255)
    if kind != "f":
        raise ValueError(
            f"image array of shape {tuple(array.shape)}, {array.dtype}: {_RULE}. "
            "Use array.astype('uint8') where the values are 0 to 255."
        )
    low, high = float(array.min()), float(array.max())
    # Written so that a NaN, which compares false, is refused too.
    if not (low >= 0.0 and high <= 1.0):
        raise ValueError(
            f"image array of shape {tuple(array.shape)}, {array.dtype}, with values from {low:g} "
            f"to {high:g}: {_RULE}. Scale or clip it first."
        )
    return np.rint(array.astype(np.float32) * 255.0).astype(np.uint8)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
