"""The short way to a new run: one statement, where nothing has to be found or refused first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mapi.access.identifiers import RUN, new_uuid, text_from_uuid
from mapi.database.queries import query
from mapi.series.budgets import Budgets
from mapi.series.numbers import number_from_text
from mapi.tracking.notes import check_tags, texts_of_params
from mapi.tracking.runs import check_start
from mapi.wire.enums import RunKind, RunStatus, Scope, Source
from mapi.wire.runs import RunFacts

if TYPE_CHECKING:
    from mapi.access.rights import Principal
    from mapi.database.door import Database
    from mapi.wire.runs import RunCreate

__all__ = ["make_run"]

_STANDARD: Final = Budgets()


async def make_run(database: Database, principal: Principal, sent: RunCreate) -> RunFacts | None:
    """Make a run that is logged from outside, with its params and tags.

    Returns:
        The run as it is read; ``None``, and nothing is made, where it names something to be found
        first, exists already, or is to be refused: `mapi.tracking.runs.create_run` tells which.

    Raises:
        InvalidError: the start, a param or a tag breaks its rule.
    """
    if sent.kind is not RunKind.EXTERNAL or sent.experiment is not None or sent.parent is not None:
        return None
    params = texts_of_params(sent.params)
    check_tags(sent.tags)
    check_start(sent.started)
    run_id = new_uuid()
    row = await database.call(
        query("runs.make"),
        {
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
            "param_keys": list(params),
            "param_texts": list(params.values()),
            "param_numbers": [number_from_text(text) for text in params.values()],
            "tag_keys": list(sent.tags),
            "tag_texts": list(sent.tags.values()),
        },
    )
    if row is None or row[0] is None:
        return None
    project, created, started, version, duration_seconds = row
    return RunFacts(
        id=text_from_uuid(RUN, run_id),
        project=project,
        kind=sent.kind,
        status=RunStatus.RUNNING,
        name=sent.name,
        note=sent.note,
        reason=None,
        experiment=None,
        parent=None,
        user=principal.name,
        external_id=sent.external_id,
        created=created,
        started=started,
        finished=None,
        duration_seconds=duration_seconds,
        attempts=1,
        etag=f'"{version}"',
    )
