"""What a filter can name in a project: what its runs and experiments are called, and what all have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mapi.database.queries import query
from mapi.search.nodes import ATTRIBUTES
from mapi.wire.runs import RunFields, SeriesField

if TYPE_CHECKING:
    from mapi.database.door import Connection

__all__ = ["list_fields"]

#: Names that one answer looks at, whether they have the prefix or not.
_STEPS_MAX: Final = 2_000
#: Sets of labels of one key: more are no help to who types.
_SETS_MAX: Final = 200


async def list_fields(
    connection: Connection, project_id: int, *, prefix: str, limit: int
) -> RunFields:
    """Return what begins with a prefix.

    Args:
        connection: a transaction whose reach has the project.
        project_id: the project.
        prefix: of keys; empty is all of them.
        limit: keys of metrics, of params, of tags and names of experiments at most, each.
    """
    asked = {
        "project": project_id,
        "prefix": prefix,
        "limit": limit + 1,
        "steps": max(_STEPS_MAX, limit + 1),
        "sets": _SETS_MAX,
    }
    series = await _fetch(connection, "fields.series", asked)
    params = [key for (key,) in await _fetch(connection, "fields.params", asked)]
    tags = [key for (key,) in await _fetch(connection, "fields.tags", asked)]
    experiments = [name for (name,) in await _fetch(connection, "fields.experiments", asked)]
    keys = sorted({key for key, _ in series})
    shown = set(keys[:limit])
    values: dict[str, set[str]] = {}
    for key, labels in series:
        for name, value in labels.items() if key in shown else ():
            values.setdefault(name, set()).add(value)
    return RunFields(
        metrics=[SeriesField(key=key, labels=labels) for key, labels in series if key in shown],
        label_values={name: sorted(found) for name, found in sorted(values.items())},
        params=params[:limit],
        tags=tags[:limit],
        attributes=[name for name in ATTRIBUTES if name.startswith(prefix)],
        experiments=experiments[:limit],
        is_complete=max(len(keys), len(params), len(tags), len(experiments)) <= limit,
    )


async def _fetch(
    connection: Connection, name: str, asked: dict[str, Any]
) -> list[tuple[Any, ...]]:
    cursor = await connection.execute(query(name), asked)
    return await cursor.fetchall()
