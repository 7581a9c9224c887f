"""What stands in the way of an import here, looked for before anything of the file is written.

A file that keeps every rule can still say what cannot be here: the id of a run of another project, an
external id that another run has, another value of a param. It is refused whole, with every such line; params
are told where nothing else stands in the way. What somebody does between this look and the writing is found
by the writing itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from mapi.access.identifiers import EXPERIMENT, RUN, VIEW, uuid_from_text
from mapi.database.queries import query
from mapi.errors import Fault, ParamConflictError, StateError
from mapi.tracking.import_file import read_lines
from mapi.wire.decoding import FAULTS_MAX, pointer
from mapi.wire.exchange import ExperimentLine, ParamLine, RunLine, ViewLine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mapi.database.door import Database, Reach
    from mapi.wire.exchange import ExportLine

__all__ = ["refuse_conflicts"]

#: Lines of one question; the longest params of so many are 16 MB.
_LINES: Final = 250
_KINDS: Final = (RunLine, ExperimentLine, ViewLine, ParamLine)


class _Faults:
    """What is wrong: all of it is counted, and as much of it kept as an answer lists."""

    def __init__(self) -> None:
        self.count = 0
        self.kept: list[Fault] = []
        self.first: tuple[int, str] | None = None

    def add(self, at: int, member: str, message: str) -> None:
        self.first = self.first or (at, message)
        self.count += 1
        if len(self.kept) < FAULTS_MAX:
            self.kept.append(Fault(f"{pointer('lines', at)}/{member}", message))

    def __str__(self) -> str:
        """Return the first line and what is wrong with it, and how many more there are."""
        assert self.first is not None
        at, message = self.first
        more = f", and {self.count - 1} more" if self.count > 1 else ""
        return f"line {at + 1} ({message}){more}"


async def refuse_conflicts(
    database: Database, reach: Reach, *, project_id: int, file: BinaryIO
) -> None:
    """Refuse a checked file that says what cannot be here, with every such line in the file's order.

    Args:
        database: the door.
        reach: of who imports.
        project_id: where to.
        file: JSON lines, checked.

    Raises:
        StateError: an id is in another project, also in one that the importer does not see, or an
            external id belongs to another run.
        ParamConflictError: nothing of that, and a run that is here has another value of a param.
    """
    taken, params = _Faults(), _Faults()
    # An id is one in the tenant, whoever sees what has it; told is only that it is taken.
    tenant = replace(reach, project_ids=None)
    for portion in _portions(file):
        questions = [
            look([(at, line) for at, line in portion if isinstance(line, kind)])
            for kind, look in (
                (RunLine, _runs),
                (ExperimentLine, _experiments),
                (ViewLine, _views),
            )
        ]
        for at, member, text in sorted(await _ask(database, tenant, project_id, *questions)):
            if member == "external_id":
                message = f"{text[:80]!r} belongs to another run of the project"
            else:
                message = f"{text} is in another project"
            taken.add(at, member, message)
        question = _params([(at, one) for at, one in portion if isinstance(one, ParamLine)])
        for at, key, text in await _ask(database, reach, project_id, question):
            params.add(at, "text", f"the param {key} of that run is {text!r} here")
    if taken.count:
        raise StateError(
            f"The file has what cannot be here: {taken}. Nothing was imported.", taken.kept
        )
    if params.count:
        raise ParamConflictError(
            f"The file has another value of a param, which is written once: {params}. Nothing was "
            "imported.",
            params.kept,
        )


async def _ask(
    database: Database, reach: Reach, project_id: int, *questions: _Question
) -> list[Any]:
    """Ask those questions that are about any line; most portions are params alone."""
    asked = [(name, about) for name, about in questions if about["at"]]
    found: list[Any] = []
    if asked:
        async with database.transaction(reach) as connection:
            for name, about in asked:
                cursor = await connection.execute(query(name), {"project": project_id, **about})
                found += await cursor.fetchall()
    return found


def _portions(file: BinaryIO) -> Iterator[list[tuple[int, ExportLine]]]:
    portion: list[tuple[int, ExportLine]] = []
    for at, line in read_lines(file):
        if isinstance(line, _KINDS):
            portion.append((at, line))
        if len(portion) == _LINES:
            yield portion
            portion = []
    if portion:
        yield portion


_Lines = list[tuple[int, Any]]
_Question = tuple[str, dict[str, Any]]


def _runs(lines: _Lines) -> _Question:
    return "importing.taken_runs", {
        "at": [at for at, _ in lines],
        "ids": [uuid_from_text(RUN, line.run) for _, line in lines],
        "external_ids": [line.external_id for _, line in lines],
    }


def _experiments(lines: _Lines) -> _Question:
    ids = [uuid_from_text(EXPERIMENT, line.experiment) for _, line in lines]
    return "importing.taken_experiments", {"at": [at for at, _ in lines], "ids": ids}


def _views(lines: _Lines) -> _Question:
    ids = [uuid_from_text(VIEW, line.view) for _, line in lines]
    return "importing.taken_views", {"at": [at for at, _ in lines], "ids": ids}


def _params(lines: _Lines) -> _Question:
    return "importing.other_params", {
        "at": [at for at, _ in lines],
        "ids": [uuid_from_text(RUN, line.run) for _, line in lines],
        "keys": [line.key for _, line in lines],
        "texts": [line.text for _, line in lines],
    }
