"""The header that leads from a page to the next one: https://www.rfc-editor.org/rfc/rfc8288."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from litestar import Request

__all__ = ["next_link"]


def next_link(request: Request[Any, Any, Any], cursor: str) -> str:
    """Return the value of the header ``Link`` that leads to the next page."""
    query = [one for one in request.query_params.multi_items() if one[0] != "cursor"]
    return f'<{request.url.path}?{urlencode([*query, ("cursor", cursor)])}>; rel="next"'
