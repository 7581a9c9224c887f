"""The full names of series and media items whose labels hold only the beginning of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mapi.database.queries import query
from mapi.series.name_map import shortened_raw
from mapi.series.names import labels_hash

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.tracking.batch import Series

__all__ = ["has_full_names", "keep_names"]


def has_full_names(series: Iterable[Series]) -> bool:
    """Say whether a name has to be kept beside any of them."""
    return any(one.name is not None for one in series)


async def keep_names(connection: Connection, run_id: UUID, series: Iterable[Series]) -> None:
    """Keep the full names that some series have; in the transaction that writes their points.

    The first of a series stays: there is no other, as its hash stands in the label.

    Args:
        connection: of the run's tenant, which has locked the run.
        run_id: the run.
        series: any; of those that are no series and no media items of the run, nothing is kept.
    """
    named = [(one, one.name, shortened_raw(one.labels)) for one in series if one.name is not None]
    if not named:
        return
    await connection.execute(
        query("points.keep_names"),
        {
            "run": run_id,
            "keys": [one.key for one, _, _ in named],
            "hashes": [labels_hash(one.labels) for one, _, _ in named],
            "raws": [raw for _, _, raw in named],
            "names": [name for _, name, _ in named],
        },
    )
