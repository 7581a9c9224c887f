"""Experiments and saved views of an imported file, and the experiments that its runs join.

What is here already stays as it is. An experiment whose name is taken is the one that has it; a view
whose name is taken, or for which the project has no place, is left out, and the answer says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mapi.access.identifiers import EXPERIMENT, VIEW, uuid_from_text
from mapi.database.queries import query
from mapi.errors import StateError
from mapi.wire.exchange import ExperimentLine
from mapi.wire.experiments import VIEWS_MAX

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.wire.exchange import ViewLine

__all__ = ["GroupWriter"]


class GroupWriter:
    """Brings experiments and saved views into a project.

    Args:
        project_id: where to.
        warn: hears what was not taken.
    """

    def __init__(self, project_id: int, warn: Callable[[str], None]) -> None:
        self._project_id = project_id
        self._warn = warn
        #: By what the file calls them: ids for views, names for runs.
        self._by_id: dict[UUID, UUID] = {}
        self._by_name: dict[str, UUID] = {}
        #: Archived here, and not in the file: they take no runs.
        self._closed: set[UUID] = set()

    async def write(self, connection: Connection, line: ExperimentLine | ViewLine) -> None:
        """Write what a line says, unless it is here.

        Raises:
            StateError: its id belongs to one of another project.
        """
        if isinstance(line, ExperimentLine):
            await self._write_experiment(connection, line)
        else:
            await self._write_view(connection, line)

    async def experiment_of(self, connection: Connection, name: str) -> UUID | None:
        """Return the experiment that a run of the file joins; it may have been here before.

        One that was archived here takes no run, unless the file says that it was archived there, with
        its runs.
        """
        found = self._by_name.get(name)
        if found is None:
            found = await self._find(connection, "importing.find_experiment", {"name": name})
            if found is None:
                self._warn(f"The experiment {name[:80]!r} is neither here nor in the file.")
                return None
            self._by_name[name] = found
            await self._close_if_archived(connection, found)
        if found in self._closed:
            self._warn(f"The experiment {name[:80]!r} is archived here and takes no more runs.")
            return None
        return found

    def experiment_here(self, sent_id: UUID) -> UUID:
        """Return which experiment stands here for one of the file; itself where the file has no such one."""
        return self._by_id.get(sent_id, sent_id)

    async def _close_if_archived(self, connection: Connection, experiment_id: UUID) -> None:
        cursor = await connection.execute(
            query("importing.archived_experiment"), {"id": experiment_id}
        )
        row = await cursor.fetchone()
        if row is not None and row[0]:
            self._closed.add(experiment_id)

    async def _write_experiment(self, connection: Connection, line: ExperimentLine) -> None:
        sent_id = uuid_from_text(EXPERIMENT, line.experiment)
        await connection.execute(
            query("importing.insert_experiment"),
            {
                "id": sent_id,
                "project": self._project_id,
                "name": line.name,
                "description": line.description,
                "archived": line.archived,
                "created": line.created,
            },
        )
        found = await self._find(
            connection, "importing.find_experiment_by_id", {"id": sent_id}
        ) or await self._find(connection, "importing.find_experiment", {"name": line.name})
        if found is None:
            raise StateError(f"{line.experiment} is here already, in another project.")
        if found != sent_id:
            self._warn(
                f"The project has an experiment {line.name[:80]!r} already; runs of the file join it."
            )
        self._by_id[sent_id] = self._by_name[line.name] = found
        if line.archived is None:
            await self._close_if_archived(connection, found)

    async def _write_view(self, connection: Connection, line: ViewLine) -> None:
        sent_id = uuid_from_text(VIEW, line.view)
        experiment = None
        if line.experiment is not None:
            experiment = self._by_id[uuid_from_text(EXPERIMENT, line.experiment)]
        about = {"project": self._project_id}
        await connection.execute(query("views.lock_project"), about)
        if await self._find(connection, "importing.find_view", {"id": sent_id}) is not None:
            return
        cursor = await connection.execute(query("views.count"), about)
        (count,) = await cursor.fetchone() or (0,)
        if count >= VIEWS_MAX:
            self._warn(
                f"The project has {count} saved views, as many as it may have; those beyond are left out."
            )
            return
        await connection.execute(
            query("importing.insert_view"),
            {
                **about,
                "id": sent_id,
                "experiment": experiment,
                "name": line.name,
                "filter": line.filter,
                "sort": line.sort,
                "columns": line.columns,
                "created": line.created,
            },
        )
        if await self._find(connection, "importing.find_view", {"id": sent_id}) is None:
            self._warn(
                f"The project has another saved view {line.name[:80]!r}; the file's is left out."
            )

    async def _find(
        self, connection: Connection, statement: str, about: dict[str, object]
    ) -> UUID | None:
        cursor = await connection.execute(query(statement), {"project": self._project_id, **about})
        row = await cursor.fetchone()
        return None if row is None else row[0]
