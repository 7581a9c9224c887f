"""Figures of matplotlib and plotly, stored as what their library draws or describes."""

from __future__ import annotations

import io
from typing import Any

from expr_tracker.media.content import StoredValue
from expr_tracker.media.header import image_header
from expr_tracker.texts import shown

__all__ = ["Figure"]

_FORMATS = ("png", "svg")


class Figure(StoredValue):
    """One plot, drawn when it is made; the figure can be changed or closed afterwards.

    Args:
        fig: a matplotlib figure (or what has one: axes, a seaborn grid), or a plotly figure.
        caption: a text beside it.
        format: ``"png"`` or ``"svg"``, for matplotlib. A plotly figure is stored as its own JSON
            (``.plotly.json``), from which plotly draws it again.

    Raises:
        ValueError: another format, or more than `expr_tracker.media.MEDIA_BYTES_MAX` bytes.
        TypeError: no figure.
    """

    kind = "figure"

    def __init__(self, fig: Any, caption: str | None = None, format: str = "png") -> None:  # noqa: A002 - the word of both libraries
        if not isinstance(format, str) or format not in _FORMATS:  # type: ignore[redundant-expr]
            raise ValueError(f"figure format {shown(format)}: expected 'png' or 'svg'.")
        described: dict[str, Any] = {"width": None, "height": None}
        figure = fig if hasattr(fig, "savefig") else getattr(fig, "figure", fig)
        if hasattr(figure, "to_plotly_json"):
            content = str(figure.to_json()).encode("utf-8", "backslashreplace")
            ending = "plotly.json"
            format = "plotly"  # noqa: A001 - as above
        elif hasattr(figure, "savefig"):
            content = _drawn(figure, format)
            ending = format
        else:
            raise TypeError(
                f"figure {type(fig).__name__}: expected a figure of matplotlib or plotly. Pixels "
                "are an Image."
            )
        header = image_header(content)
        if header is not None:
            described = {"width": header.width, "height": header.height}
        described |= {"format": format, "caption": None if caption is None else str(caption)}
        super().__init__(content, ending, described)


def _drawn(figure: Any, encoding: str) -> bytes:
    stream = io.BytesIO()
    # Without the date: the same plot drawn twice is the same content.
    metadata = {"Date": None} if encoding == "svg" else {}
    figure.savefig(stream, format=encoding, metadata=metadata)
    return stream.getvalue()
