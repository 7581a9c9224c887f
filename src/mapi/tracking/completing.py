"""What could stand at a caret in the text of a search, with the names and values of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mapi.database.queries import query
from mapi.search import candidates_of, complete, expected_of, lookup_of
from mapi.search.nodes import Attribute, Param, Tag
from mapi.series.name_map import series_from_name
from mapi.tracking.fields import list_fields
from mapi.wire.parsing import FilterCompletion

if TYPE_CHECKING:
    from mapi.database.door import Connection
    from mapi.search import Lookup
    from mapi.wire.parsing import Completing

__all__ = ["complete_at"]

#: Keys of each family that are looked through.
_KEYS_MAX: Final = 1_000
#: Rows of one key that are looked through for its values, whatever they are.
_ROWS_MAX: Final = 5_000
#: Characters: nobody picks a longer value from a list.
_VALUE_LENGTH_MAX: Final = 200


async def complete_at(
    connection: Connection,
    project_id: int,
    text: str,
    *,
    caret: int,
    completing: Completing,
    limit: int,
) -> FilterCompletion:
    """Return what could stand at a caret, judged by the text before it.

    Args:
        connection: a transaction whose reach has the project.
        project_id: whose names and values are told.
        text: what was typed so far, right or wrong.
        caret: where, in code points; behind the text counts as its end.
        completing: which of the languages the text is in.
        limit: candidates at most.
    """
    found = complete(text, caret, series_from_name=series_from_name, kind=completing)
    lookup = lookup_of(found)
    fields = None
    if lookup.prefix is not None:
        fields = await list_fields(connection, project_id, prefix=lookup.prefix, limit=_KEYS_MAX)
    values = await _values(connection, project_id, lookup, limit=limit)
    candidates = candidates_of(found, fields, values)
    is_known_whole = (fields is None or fields.is_complete) and len(values) <= limit
    return FilterCompletion(
        start=found.start,
        end=min(caret, len(text)),
        candidates=candidates[:limit],
        expected=expected_of(found),
        is_complete=is_known_whole and len(candidates) <= limit,
    )


async def _values(
    connection: Connection, project_id: int, lookup: Lookup, *, limit: int
) -> list[str]:
    """Return one value more than the limit, if there are."""
    key = ""
    match lookup.values_of:
        case Attribute("experiment"):
            name = "fields.experiments"
        case Attribute("user"):
            name = "fields.users"
        case Param(key):
            name = "fields.param_values"
        case Tag(key):
            name = "fields.tag_values"
        case _:
            return []
    asked: dict[str, Any] = {
        "project": project_id,
        "key": key,
        "prefix": lookup.value_prefix,
        "limit": limit + 1,
        "rows": _ROWS_MAX,
        "length": _VALUE_LENGTH_MAX,
    }
    cursor = await connection.execute(query(name), asked)
    return [value for (value,) in await cursor.fetchall()]
