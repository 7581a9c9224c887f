"""The short way to a new run: one statement, where nothing has to be found or refused first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mapi.access.idempotency import check_same, under_way
from mapi.access.identifiers import RUN, new_uuid, text_from_uuid
from mapi.database.arrays import TextArray
from mapi.database.queries import query
from mapi.series.budgets import Budgets
from mapi.series.numbers import number_from_text
from mapi.tracking.notes import check_tags, texts_of_params
from mapi.tracking.runs import check_start
from mapi.wire.enums import RunKind, RunStatus, Scope, Source
from mapi.wire.runs import RunFacts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from mapi.access.idempotency import RequestKey
    from mapi.access.rights import Principal
    from mapi.database.door import Database
    from mapi.wire.runs import RunCreate

__all__ = ["MadeRun", "make_run"]

_STANDARD: Final = Budgets()


@dataclass(frozen=True, slots=True)
class MadeRun:
    """A run as its request is answered."""

    run: RunFacts
    is_replayed: bool
    """The same request has made it before."""


async def make_run(
    database: Database,
    principal: Principal,
    sent: RunCreate,
    *,
    key: RequestKey | None = None,
) -> MadeRun | None:
    """Make a run that is logged from outside.

    Args:
        database: the door.
        principal: who makes it.
        sent: what the run is to be.
        key: of the request: one that was made with it is answered as it was then.

    Returns:
        The run as it is read; ``None``, and nothing is made, where it names something to be found
        first, exists already, or is to be refused, or the key's answer is of another form:
        `mapi.tracking.runs.create_run` tells which.

    Raises:
        InvalidError: the start, a param or a tag breaks its rule, or the key was used for another
            request.
        StateError: the key's first request is under way, for longer than this one waits.
    """
    if sent.kind is not RunKind.EXTERNAL or sent.experiment is not None or sent.parent is not None:
        return None
    params = texts_of_params(sent.params)
    check_tags(sent.tags)
    check_start(sent.started)
    run_id = new_uuid()
    about = {
        **principal.reach.for_call(),
        "writable": principal.projects_with(Scope.WRITE),
        "project": sent.project,
        "token_project": principal.project_id,
        "id": run_id,
        "kind": sent.kind.value,
        "status": RunStatus.RUNNING.value,
        "name": sent.name,
        "note": sent.note,
        "user": principal.name,
        "external_id": sent.external_id,
        "started": sent.started,
        "source": Source.API.value,
        "standard_params": _STANDARD.params,
        "standard_tags": _STANDARD.tags,
        "param_keys": TextArray(list(params)),
        "param_texts": TextArray(list(params.values())),
        "param_numbers": [number_from_text(text) for text in params.values()],
        "tag_keys": TextArray(list(sent.tags)),
        "tag_texts": TextArray(list(sent.tags.values())),
    }
    if key is None:
        row = await database.call(query("runs.make"), about)
        if row is None or row[0] is None:
            return None
        return MadeRun(_facts(sent, row, made_id=run_id, user=principal.name), is_replayed=False)
    row = await database.call(
        query("runs.make_once"),
        {
            **about,
            "principal": principal.token_id,
            "key": key.text,
            "request": key.request_hash,
        },
    )
    assert row is not None
    *facts, made_id, user, first_request, first_status = row
    if first_request is not None:
        check_same(key, first_request)
        if first_status is None:
            raise under_way(key)
    if facts[0] is None:
        return None
    run = _facts(sent, facts, made_id=made_id, user=user)
    return MadeRun(run, is_replayed=first_request is not None)


def _facts(sent: RunCreate, found: Sequence[Any], *, made_id: UUID, user: str) -> RunFacts:
    """Return a run that was just made: what was asked for, and what the database says of it."""
    project, created, started, version, duration_seconds = found
    return RunFacts(
        id=text_from_uuid(RUN, made_id),
        project=project,
        kind=RunKind.EXTERNAL,
        status=RunStatus.RUNNING,
        name=sent.name,
        note=sent.note,
        reason=None,
        experiment=None,
        parent=None,
        user=user,
        external_id=sent.external_id,
        created=created,
        started=started,
        finished=None,
        duration_seconds=duration_seconds,
        attempts=1,
        etag=f'"{version}"',
    )
