"""Runs back from a file of an export, with their ids, times, steps and attempts.

The file was checked whole before. What it says goes the one way into the log, in small transactions;
the same file again, or the rest of one that broke off, changes nothing that is there. Log lines and
spans have no step that would tell them apart: their places in the file are the sequence numbers of a
writer of its own. A run that was here before keeps what it has.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import msgspec

from mapi.access.audit import record
from mapi.access.identifiers import RUN, text_from_uuid, uuid_from_text
from mapi.access.projects import project_names
from mapi.database.queries import query
from mapi.errors import ForbiddenError, StateError
from mapi.series.budgets import Drops
from mapi.tracking.import_conflicts import refuse_conflicts
from mapi.tracking.import_file import check_file, read_lines
from mapi.tracking.import_groups import GroupWriter
from mapi.tracking.import_lines import LOG_WRITER, SPAN_WRITER, LineWriter
from mapi.tracking.runs import require_open
from mapi.tracking.writing import Sender, advance_writer, known_seq, open_writing
from mapi.wire.administration import ImportAnswer
from mapi.wire.enums import Scope
from mapi.wire.exchange import (
    AttemptLine,
    DocumentLine,
    EndLine,
    ExperimentLine,
    HeaderLine,
    PointsLine,
    RunLine,
    ViewLine,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from uuid import UUID

    from mapi.access.rights import Principal
    from mapi.database.door import Connection, Database

__all__ = ["import_file"]

#: Lines of one transaction.
_LINES: Final = 500
_WARNINGS_MAX: Final = 20
#: Lines that are written one by one.
_ALONE: Final = (PointsLine, RunLine, AttemptLine, DocumentLine, ExperimentLine, ViewLine)


async def import_file(
    database: Database, principal: Principal, project_id: int, *, file: BinaryIO, now_us: int
) -> ImportAnswer:
    """Bring the runs of a file into a project.

    Args:
        database: the door.
        principal: who imports; it may write in the project.
        project_id: where to.
        file: JSON lines, of any length.
        now_us: the server's time in microseconds since 1970 UTC.

    Raises:
        InvalidError: the file breaks a rule; nothing of it was taken.
        ForbiddenError: it says what only an admin can vouch for.
        StateError: a run is in another project, or its external id belongs to another run.
        ParamConflictError: a run that was here has another value of a param.
    """
    # A large file takes seconds, in which the loop serves others.
    facts = await asyncio.to_thread(check_file, file, now_us=now_us)
    if facts.is_trusted and not principal.may(Scope.ADMIN, project_id):
        raise ForbiddenError(
            "The file has runs that were executed or values that runners signed; to vouch for them "
            f"needs the scope 'admin', which {principal.name!r} has not."
        )
    await refuse_conflicts(database, principal.reach, project_id=project_id, file=file)
    work = _Import(database, principal, project_id, now_us=now_us)
    for lines in _portions(file):
        await work.take(lines)
    await work.finish()
    return ImportAnswer(
        runs=[text_from_uuid(RUN, one) for one in facts.runs],
        rows=dict(work.rows),
        warnings=work.warnings,
    )


def _portions(file: BinaryIO) -> Iterator[list[Any]]:
    """Yield lines of one run and type together, no more than `_LINES` at once."""
    portion: list[Any] = []
    last: tuple[Any, ...] | None = None
    for _, line in read_lines(file):
        if isinstance(line, HeaderLine | EndLine):
            continue
        place = (type(line), getattr(line, "run", None), *(_writer_of(line)))
        if portion and (place != last or len(portion) == _LINES):
            yield portion
            portion = []
        portion.append(line)
        last = place
    if portion:
        yield portion


def _count(lines: Sequence[Any]) -> int:
    """Return how much lines of one type hold: each one thing, but of points each as many as it has."""
    return sum(len(one.values) if isinstance(one, PointsLine) else 1 for one in lines)


def _writer_of(line: Any) -> tuple[Any, ...]:
    if isinstance(line, _ALONE):
        return (id(line),)  # each by itself
    return tuple(getattr(line, name, None) for name in ("source", "user", "stream", "rank"))


class _Import:
    def __init__(
        self, database: Database, principal: Principal, project_id: int, *, now_us: int
    ) -> None:
        self._database = database
        self._principal = principal
        self._project_id = project_id
        self._now_us = now_us
        self._is_imported = False
        #: How many lines of a type the run had so far.
        self._places: Counter[type] = Counter()
        #: Run, what links it, and the other run.
        self._links: list[tuple[UUID, str, UUID]] = []
        self.rows: Counter[str] = Counter()
        self.warnings: list[str] = []
        self._groups = GroupWriter(project_id, self._warn)

    async def take(self, lines: Sequence[Any]) -> None:
        """Write lines of one run and type."""
        first = lines[0]
        if isinstance(first, ExperimentLine | ViewLine):
            await self._database.run(
                self._principal.reach, lambda connection: self._groups.write(connection, first)
            )
            self.rows[str(first.__struct_config__.tag)] += 1
            return
        if isinstance(first, RunLine):
            await self._begin_run(first)
            return
        run_id = uuid_from_text(RUN, first.run)

        # Who may not administrate cannot speak for others.
        is_admin = self._principal.may(Scope.ADMIN, self._project_id)
        user = (getattr(first, "user", "") if is_admin else "") or self._principal.name

        async def work(connection: Connection) -> None:
            await connection.execute(query("importing.is_no_sign_of_life"))
            writer = LineWriter(
                connection,
                run_id,
                principal=self._principal,
                is_imported=self._is_imported,
                place=self._places[type(first)],
                now_us=self._now_us,
                groups=self._groups,
                warn=self._warn,
            )
            await writer.write(lines)

        await self._database.run(replace(self._principal.reach, user=user), work)
        self.rows[str(first.__struct_config__.tag)] += _count(lines)
        self._places[type(first)] += len(lines)

    async def finish(self) -> None:
        """Link runs to others of them, and write down who has imported."""

        async def work(connection: Connection) -> None:
            for run_id, name, other in self._links:
                about = {"id": run_id, "other": other}
                await connection.execute(query(f"importing.set_{name}"), about)
            names = await project_names(connection)
            await record(
                connection,
                self._principal.name,
                "run.import",
                names[self._project_id],
                rows=dict(self.rows),
            )

        await self._database.run(self._principal.reach, work)

    async def _begin_run(self, line: RunLine) -> None:
        run_id = uuid_from_text(RUN, line.run)

        async def work(connection: Connection) -> bool:
            await connection.execute(query("importing.is_no_sign_of_life"))
            is_imported = await self._insert_run(connection, run_id, line)
            if not is_imported:
                await self._skip_what_is_here(connection, run_id)
            return is_imported

        self._is_imported = await self._database.run(self._principal.reach, work)
        self._places.clear()
        self.rows["run"] += 1
        for name, other in (("parent", line.parent), ("retry_of", line.retry_of)):
            if other is not None:
                self._links.append((run_id, name, uuid_from_text(RUN, other)))

    async def _insert_run(self, connection: Connection, run_id: UUID, line: RunLine) -> bool:
        """Make a run unless it is here; say whether an import has made it, this one or one that was cut."""
        is_admin = self._principal.may(Scope.ADMIN, self._project_id)
        experiment = None
        cursor = await connection.execute(query("importing.find_run"), {"id": run_id})
        # One that is here stays in the experiment that it is in.
        if line.experiment is not None and await cursor.fetchone() is None:
            experiment = await self._groups.experiment_of(connection, line.experiment)
        cursor = await connection.execute(
            query("importing.insert_run"),
            {
                "id": run_id,
                "project": self._project_id,
                "kind": line.kind.value,
                "status": line.status.value,
                "name": line.name,
                "note": line.note,
                "reason": line.reason,
                "spec": None if line.spec is None else json.dumps(line.spec),
                "experiment": experiment,
                # Who may not administrate cannot speak for others.
                "user": line.user if is_admin else self._principal.name,
                "external_id": line.external_id,
                "created": line.created,
                "started": line.started,
                "finished": line.finished,
                "pruned": None
                if line.pruned is None
                else msgspec.json.encode(line.pruned).decode(),
                "dropped": json.dumps(Drops.of(line.dropped).to_json() if line.dropped else {}),
            },
        )
        if await cursor.fetchone() is not None:
            await connection.execute(query("importing.forget_deletion"), {"id": run_id})
        cursor = await connection.execute(query("importing.find_run"), {"id": run_id})
        row = await cursor.fetchone()
        if row is None:
            await require_open(connection, self._project_id)
            raise StateError(
                f"{line.run} cannot be made here: its external id belongs to another run of the "
                "project, or its id to a run of a project that you cannot see."
            )
        if row[0] != self._project_id:
            raise StateError(f"{line.run} is here already, in another project.")
        return bool(row[1])

    async def _skip_what_is_here(self, connection: Connection, run_id: UUID) -> None:
        """Of a run that was logged here, take the first lines and spans of the file for those it has.

        How many it had when the first import met it is remembered. It may have as many writers as a run
        may have: nothing of another one is written under these names.
        """
        for writer, kind in ((LOG_WRITER, "log_lines"), (SPAN_WRITER, "spans")):
            writing = await open_writing(connection, run_id, self._sender(writer=writer))
            if await known_seq(writing) is None:
                await advance_writer(writing, getattr(writing.usage, kind) - 1)

    def _sender(self, **about: Any) -> Sender:
        return Sender(principal=self._principal, **about)

    def _warn(self, text: str) -> None:
        if text not in self.warnings and len(self.warnings) < _WARNINGS_MAX:
            self.warnings.append(text)
