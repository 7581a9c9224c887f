"""Where a page ended, as plain values that carry the whole search.

They hold the canonical filter and order, the project, and the time that ``-7d`` counts from. So the
next page needs nothing but them, and what comes with them may only repeat it. Whoever passes them
out signs them (`mapi.access.cursors`): here they are believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NoReturn

from mapi.errors import Fault, InvalidError
from mapi.search.nodes import Node, Search, SortKey
from mapi.search.parsing import parse_filter, parse_sort
from mapi.search.printing import filter_text, sort_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mapi.search.order import Position
    from mapi.series.names import Labels

__all__ = ["Given", "cursor_content", "search_from_cursor"]

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


def cursor_content(search: Search, position: Position) -> dict[str, Any]:
    """Return what the cursor for the page behind a position says, as JSON.

    Args:
        search: what the page belongs to.
        position: of the last run of the page.
    """
    return {
        "project": search.project_id,
        "trash": search.in_trash,
        "filter": filter_text(search.filter),
        "sort": sort_text(search.sort),
        "now": search.now.isoformat(),
        "position": list(position),
    }


def search_from_cursor(
    content: Mapping[str, Any], given: Given, *, pointer: str = _POINTER
) -> tuple[Search, Position]:
    """Return the search that a cursor goes on with, and the position that it stands at.

    Args:
        content: what the cursor says.
        given: what else the request says; it may only repeat what the cursor says.
        pointer: where the cursor came from.

    Raises:
        InvalidError: it is of another search.
    """
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


def _refuse(pointer: str, message: str) -> NoReturn:
    raise InvalidError(Fault(pointer, message))
