"""Conditions on the version of an object: ``If-Match`` before a change, ``If-None-Match`` in reads.

Versions are compared strongly (RFC 9110, 8.8.3): a weak one equals none before a change. An object
counts its versions, and its answers tell more than those: so the ETag of an answer is the version,
and behind a dash what else the answer holds. A change asks for the version alone; whoever read an
object before it got a run more may change its name.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from mapi.errors import PreconditionRequiredError
from mapi.tracking.versions import Expected
from mapi.wire.experiments import ExperimentFacts

if TYPE_CHECKING:
    from litestar import Request

    from mapi.wire.runs import RunFacts

__all__ = ["etag_of", "expected_versions", "is_known"]

_ETAG: Final = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"|\*')
#: What an answer holds beside the version.
_BEHIND: Final = re.compile(r'-[0-9a-f]{16}"$')
_DIGEST_LENGTH: Final = 16
#: A caller has read one version, or a few; more than this is no header of ours.
_LISTED_MAX: Final = 20


def expected_versions(request: Request[Any, Any, Any], *, is_required: bool = False) -> Expected:
    """Return which versions the request may change.

    Raises:
        PreconditionRequiredError: the request has to say it, and does not.
    """
    header = _header(request, "if-match")
    if header is None and is_required:
        raise PreconditionRequiredError(
            "This is shared by all of the project: send the ETag that you read as If-Match, so that "
            "nobody's change is undone unseen."
        )
    if header is None:
        return Expected(None)
    return Expected([_BEHIND.sub('"', one) for one in _listed(header)])


def etag_of(facts: ExperimentFacts | RunFacts) -> str:
    """Return the ETag of an answer, which covers all of it but how long a run has lasted up to now."""
    told = facts if isinstance(facts, ExperimentFacts) else replace(facts, duration_seconds=None)
    digest = hashlib.sha256(msgspec.json.encode(told)).hexdigest()
    return f'{facts.etag.removesuffix(chr(34))}-{digest[:_DIGEST_LENGTH]}"'


def is_known(request: Request[Any, Any, Any], etag: str) -> bool:
    """Return whether the caller has this answer already."""
    header = _header(request, "if-none-match")
    if header is None:
        return False
    known = [one.removeprefix("W/") for one in _listed(header)]
    return etag in known or "*" in known


def _header(request: Request[Any, Any, Any], name: str) -> str | None:
    """Return a header; in several lines it is one list (RFC 9110, 5.3)."""
    lines = request.headers.getall(name, [])
    return ", ".join(lines) if lines else None


def _listed(header: str) -> list[str]:
    return _ETAG.findall(header)[:_LISTED_MAX]
