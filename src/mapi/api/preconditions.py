"""Conditions on the version of an object: ``If-Match`` before a change, ``If-None-Match`` in reads.

Versions are compared strongly (RFC 9110, 8.8.3): a weak one equals none before a change.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mapi.tracking.life import Expected

if TYPE_CHECKING:
    from litestar import Request

__all__ = ["expected_versions", "is_known"]

_ETAG: Final = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"|\*')
#: A caller has read one version, or a few; more than this is no header of ours.
_LISTED_MAX: Final = 20


def expected_versions(request: Request[Any, Any, Any]) -> Expected:
    """Return which versions the request may change."""
    header = request.headers.get("if-match")
    return Expected(None if header is None else _listed(header))


def is_known(request: Request[Any, Any, Any], etag: str) -> bool:
    """Return whether the caller has this version already."""
    header = request.headers.get("if-none-match")
    if header is None:
        return False
    known = [one.removeprefix("W/") for one in _listed(header)]
    return etag in known or "*" in known


def _listed(header: str) -> list[str]:
    return _ETAG.findall(header)[:_LISTED_MAX]
