"""What stands in the way of an import here, looked for before anything of the file is written.

A file that keeps every rule can still say what cannot be here: the id of a run of another project, an
external id that another run has, another value of a param. It is refused whole, with the line. What
somebody does between this look and the writing is found by the writing itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, Final, NoReturn

from mapi.access.identifiers import EXPERIMENT, RUN, VIEW, uuid_from_text
from mapi.database.queries import query
from mapi.errors import Fault, ParamConflictError, StateError
from mapi.tracking.import_file import read_lines
from mapi.wire.decoding import pointer
from mapi.wire.exchange import ExperimentLine, ParamLine, RunLine, ViewLine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mapi.database.door import Database, Reach
    from mapi.wire.exchange import ExportLine

__all__ = ["refuse_conflicts"]

#: Lines of one question; the longest params of so many are 16 MB.
_LINES: Final = 250
_KINDS: Final = (RunLine, ExperimentLine, ViewLine, ParamLine)


async def refuse_conflicts(
    database: Database, reach: Reach, *, project_id: int, file: BinaryIO
) -> None:
    """Refuse a checked file that says what cannot be here.

    Args:
        database: the door.
        reach: of who imports.
        project_id: where to.
        file: JSON lines, checked.

    Raises:
        StateError: an id is in another project, or an external id belongs to another run.
        ParamConflictError: a run that is here has another value of a param.
    """
    for portion in _portions(file):
        async with database.transaction(reach) as connection:
            for kind, look in (
                (RunLine, _runs),
                (ExperimentLine, _experiments),
                (ViewLine, _views),
                (ParamLine, _params),
            ):
                lines = [(at, line) for at, line in portion if isinstance(line, kind)]
                if not lines:
                    continue
                name, about = look(lines)
                cursor = await connection.execute(
                    query(name),
                    {"project": project_id, "at": [at for at, _ in lines], **about},
                )
                row = await cursor.fetchone()
                if row is not None:
                    _refuse(name, row)


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
        "ids": [uuid_from_text(RUN, line.run) for _, line in lines],
        "external_ids": [line.external_id for _, line in lines],
    }


def _experiments(lines: _Lines) -> _Question:
    ids = [uuid_from_text(EXPERIMENT, line.experiment) for _, line in lines]
    return "importing.taken_experiments", {"ids": ids}


def _views(lines: _Lines) -> _Question:
    ids = [uuid_from_text(VIEW, line.view) for _, line in lines]
    return "importing.taken_views", {"ids": ids}


def _params(lines: _Lines) -> _Question:
    return "importing.other_params", {
        "ids": [uuid_from_text(RUN, line.run) for _, line in lines],
        "keys": [line.key for _, line in lines],
        "texts": [line.text for _, line in lines],
    }


def _refuse(name: str, row: tuple[Any, ...]) -> NoReturn:
    at, what, text = row
    place = pointer("lines", at)
    if name == "importing.other_params":
        message = f"the param {what} of that run is {text[:80]!r} here"
        raise ParamConflictError(
            f"Line {at + 1} has another value of a param, which is written once. Nothing was "
            "imported.",
            [Fault(f"{place}/text", message)],
        )
    if what == "external_id":
        message = f"{text[:80]!r} belongs to another run of the project"
    else:
        message = f"{text} is in another project"
    raise StateError(
        f"Line {at + 1} of the file cannot be here: {message}. Nothing was imported.",
        [Fault(f"{place}/{what}", message)],
    )
