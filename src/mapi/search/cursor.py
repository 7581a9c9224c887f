"""Where a page ended, as an opaque text that only we can write.

A cursor carries its whole search: the canonical filter and order, the project, and the time that
``-7d`` counts from. So the next page needs nothing but the cursor, and what comes with it may only
repeat it. It is authenticated before anything in it is looked at, and good for a day.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NoReturn

from mapi.errors import Fault, InvalidError
from mapi.search.nodes import Node, Search, SortKey
from mapi.search.parsing import parse_filter, parse_sort
from mapi.search.printing import filter_text, sort_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mapi.search.order import Position
    from mapi.series.names import Labels

__all__ = ["CURSOR_LIFETIME", "Given", "read_cursor", "write_cursor"]

#: Long enough to walk through everything, short enough that ``now`` means something.
CURSOR_LIFETIME: Final = timedelta(hours=24)
#: A filter of 4 096 characters and six texts of 256, should none of it compress.
_LENGTH_MAX: Final = 40_000
_DIGEST_BYTES: Final = 32
#: Set apart from whatever else the key may sign; counts the forms of the content.
_PURPOSE: Final = b"mapi.search.cursor.1\x00"
_POINTER: Final = "/query/cursor"


@dataclass(frozen=True, slots=True)
class Given:
    """What a request says beside its cursor."""

    project_id: int
    filter: Node | None = None
    """``None``: the request has no filter."""
    sort: Sequence[SortKey] | None = None
    """``None``: the request has no order."""
    in_trash: bool = False


def write_cursor(search: Search, position: Position, *, key: bytes, issued: datetime) -> str:
    """Return the cursor for the page behind a position.

    Args:
        search: what the page belongs to.
        position: of the last run of the page.
        key: a secret of the deployment.
        issued: the present time.
    """
    content = {
        "project": search.project_id,
        "trash": search.in_trash,
        "filter": filter_text(search.filter),
        "sort": sort_text(search.sort),
        "now": search.now.isoformat(),
        "issued": issued.isoformat(),
        "position": list(position),
    }
    packed = zlib.compress(json.dumps(content, ensure_ascii=False).encode(), 9)
    text = base64.urlsafe_b64encode(_digest(packed, key) + packed)
    return text.decode().rstrip("=")


def read_cursor(
    text: str, given: Given, *, key: bytes, now: datetime, pointer: str = _POINTER
) -> tuple[Search, Position]:
    """Return the search that a cursor goes on with, and the position that it stands at.

    Args:
        text: as the client sent it.
        given: what else the request says; it may only repeat what the cursor says.
        key: the secret that cursors are written with.
        now: the present time.
        pointer: where the text came from.

    Raises:
        InvalidError: it is not ours, too old, or of another search.
    """
    packed = _authentic(text, key)
    if packed is None:
        _refuse(pointer, "this is no cursor of this server; begin again without one")
    content: dict[str, Any] = json.loads(zlib.decompress(packed))
    if now - datetime.fromisoformat(content["issued"]) > CURSOR_LIFETIME:
        _refuse(pointer, "the cursor is more than 24 hours old; begin again without one")
    search = Search(
        project_id=content["project"],
        now=datetime.fromisoformat(content["now"]).astimezone(UTC),
        filter=parse_filter(content["filter"], series_from_name=_no_foreign_name),
        sort=parse_sort(content["sort"], series_from_name=_no_foreign_name),
        in_trash=content["trash"],
    )
    for name, is_same in (
        ("project", given.project_id == search.project_id),
        ("choice of the trash", given.in_trash == search.in_trash),
        ("filter", given.filter is None or filter_text(given.filter) == content["filter"]),
        ("sort", given.sort is None or sort_text(given.sort) == content["sort"]),
    ):
        if not is_same:
            _refuse(
                pointer,
                f"the cursor belongs to another {name}; leave it away with a cursor, or repeat it",
            )
    return search, tuple(content["position"])


def _no_foreign_name(name: str) -> tuple[str, Labels]:
    raise ValueError(f"{name!r} is quoted, and a canonical text has keys only")


def _digest(packed: bytes, key: bytes) -> bytes:
    return hmac.new(key, _PURPOSE + packed, hashlib.sha256).digest()


def _authentic(text: str, key: bytes) -> bytes | None:
    if not text.isascii() or len(text) > _LENGTH_MAX:
        return None
    try:
        # Strictly: characters outside of the alphabet would make many texts of one cursor.
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    digest, packed = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:]
    return packed if hmac.compare_digest(digest, _digest(packed, key)) else None


def _refuse(pointer: str, message: str) -> NoReturn:
    raise InvalidError(Fault(pointer, message))
