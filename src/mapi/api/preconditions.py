"""Conditions on the version of an object: ``If-Match`` before a change, ``If-None-Match`` in reads.

Versions are compared strongly (RFC 9110, 8.8.3): a weak one equals none before a change.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mapi.errors import PreconditionRequiredError
from mapi.tracking.versions import Expected

if TYPE_CHECKING:
    from litestar import Request

__all__ = ["expected_versions", "is_known"]

_ETAG: Final = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"|\*')
#: A caller has read one version, or a few; more than this is no header of ours.
_LISTED_MAX: Final = 20


def expected_versions(request: Request[Any, Any, Any], *, is_required: bool = False) -> Expected:
    """Return which versions the request may change.

    Raises:
        PreconditionRequiredError: the request has to say it, and does not.
    """
    header = request.headers.get("if-match")
    if header is None and is_required:
        raise PreconditionRequiredError(
            "This is shared by all of the project: send the ETag that you read as If-Match, so that "
            "nobody's change is undone unseen."
        )
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
