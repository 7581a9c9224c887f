"""Slices of what an export reads: small transactions, however long a run is.

An export is as slow as whoever reads it; no transaction, and no lock, may wait for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from psycopg.rows import dict_row

from mapi.access.identifiers import RUN, text_from_uuid
from mapi.database.queries import query
from mapi.tracking.batch import SCALAR_STEP
from mapi.tracking.curves import CurvePart, Stored, Stretch, read_points

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from uuid import UUID

    from mapi.database.door import Database, Reach

__all__ = ["SliceReader"]

#: Points of one slice: 0.3 MB of JSON.
_POINTS: Final = 5_000
#: Rows of one slice of anything else; the longest params or messages of so many are a few MB.
_ROWS: Final = 200


class SliceReader:
    """Reads slices, each in a transaction of its own.

    Args:
        database: the door.
        reach: of whom exports.
        run_id: the run that statements are about; none for those of a project.
    """

    def __init__(self, database: Database, reach: Reach, run_id: UUID | None) -> None:
        self._database = database
        self._reach = reach
        self.run_id = run_id
        self.run = "" if run_id is None else text_from_uuid(RUN, run_id)

    async def rows(self, name: str, **about: Any) -> list[dict[str, Any]]:
        """Return the rows of a statement."""
        async with (
            self._database.transaction(self._reach) as connection,
            connection.cursor(row_factory=dict_row) as cursor,
        ):
            await cursor.execute(query(name), {"run": self.run_id, **about})
            return await cursor.fetchall()

    async def slices(
        self, name: str, column: str, first: Any, **about: Any
    ) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the rows of a statement that goes on behind the last row's ``column``."""
        after = first
        while rows := await self.rows(name, after=after, limit=_ROWS, **about):
            yield rows
            if len(rows) < _ROWS:
                return
            after = rows[-1][column]

    async def points(self, part: CurvePart) -> AsyncIterator[list[Stored]]:
        """Yield all points of a series that one attempt wrote."""
        first = SCALAR_STEP
        while True:
            async with self._database.transaction(self._reach) as connection:
                found = await read_points(connection, [part], Stretch(first), limit=_POINTS + 1)
            if found:
                yield found[:_POINTS]
            if len(found) <= _POINTS:
                return
            first = found[_POINTS].step
