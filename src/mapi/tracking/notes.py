"""What a run says in words: params, written once, and tags, of which the last value stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mapi.database.queries import query
from mapi.errors import Fault, InvalidError, NotFoundError, ParamConflictError
from mapi.series.config_leaves import param_text
from mapi.series.names import check_param, check_tag
from mapi.series.numbers import number_from_text
from mapi.wire.decoding import pointer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from mapi.database.door import Connection

__all__ = ["write_params", "write_tags"]


async def write_params(
    connection: Connection, run_id: UUID, params: Mapping[str, Any], *, source: str = "api"
) -> int:
    """Write params; the same value again is no change.

    Returns:
        How many are new.

    Raises:
        InvalidError: a key or a value breaks its rule.
        ParamConflictError: one has another value; nothing was written.
        NotFoundError: there is no such run.
    """
    texts = {key: param_text(value) for key, value in params.items()}
    _raise_any(
        [
            Fault(pointer("params", key), wrong)
            for key, text in texts.items()
            if (wrong := check_param(key, text))
        ]
    )
    project_id, change_seq = await _lock(connection, run_id)
    cursor = await connection.execute(
        query("runs.find_params"), {"run": run_id, "keys": list(texts)}
    )
    known: dict[str, str] = dict(await cursor.fetchall())
    conflicts = [
        Fault(pointer("params", key), f"the param {key} is {known[key][:80]!r} already")
        for key in known
        if known[key] != texts[key]
    ]
    if conflicts:
        raise ParamConflictError(
            f"{len(conflicts)} params have another value already; a param is written once. "
            "Nothing was written.",
            conflicts,
        )
    new = [key for key in texts if key not in known]
    if new:
        await connection.execute(
            query("runs.insert_params"),
            {
                "run": run_id,
                "project": project_id,
                "source": source,
                "change_seq": change_seq,
                "keys": new,
                "texts": [texts[key] for key in new],
                "numbers": [number_from_text(texts[key]) for key in new],
            },
        )
        await connection.execute(query("runs.bump"), {"run": run_id, "change_seq": change_seq})
    return len(new)


async def write_tags(
    connection: Connection, run_id: UUID, tags: Mapping[str, str], *, source: str = "api"
) -> None:
    """Write tags; the last value of a key stays.

    Raises:
        InvalidError: a key or a value breaks its rule.
        NotFoundError: there is no such run.
    """
    _raise_any(
        [
            Fault(pointer("tags", key), wrong)
            for key, text in tags.items()
            if (wrong := check_tag(key, text))
        ]
    )
    project_id, change_seq = await _lock(connection, run_id)
    await connection.execute(
        query("runs.upsert_tags"),
        {
            "run": run_id,
            "project": project_id,
            "source": source,
            "change_seq": change_seq,
            "keys": list(tags),
            "texts": list(tags.values()),
        },
    )
    await connection.execute(query("runs.bump"), {"run": run_id, "change_seq": change_seq})


async def _lock(connection: Connection, run_id: UUID) -> tuple[int, int]:
    """Lock a run; return its project and the number of the change that is made to it."""
    cursor = await connection.execute(query("points.lock_run"), {"run": run_id})
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("There is no such run.")
    return row[0], row[2] + 1


def _raise_any(faults: list[Fault]) -> None:
    if faults:
        raise InvalidError(faults)
