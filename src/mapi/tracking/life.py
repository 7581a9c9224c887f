"""The life of a run after it was made: what a patch changes, cancel and retry, the trash and back.

The version of a run counts what a patch can change, so that two people who edit the same run do not
undo each other: whoever says which version was read is refused when there is a newer one.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET
from psycopg.rows import dict_row

from mapi.access.audit import record
from mapi.access.identifiers import EXPERIMENT, RUN, new_uuid, text_from_uuid
from mapi.database.queries import query
from mapi.errors import Fault, InvalidError, NotFoundError, StateError
from mapi.series.names import check_name, check_note
from mapi.tracking.experiments import find_experiment
from mapi.tracking.versions import Expected
from mapi.wire.enums import RunKind, RunStatus
from mapi.wire.times import check_time

if TYPE_CHECKING:
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.wire.runs import RunPatch

__all__ = ["cancel_run", "patch_run", "restore_run", "retry_run", "trash_run"]

#: What a client can say of a run that it executes itself; the others are said by who executes it.
_OWN_STATUSES: Final = (
    RunStatus.RUNNING,
    RunStatus.SUCCEEDED,
    RunStatus.FAILED,
    RunStatus.CANCELLED,
    RunStatus.LOST,
)


async def patch_run(
    connection: Connection, run_id: UUID, patch: RunPatch, *, expected: Expected | None = None
) -> None:
    """Change what of a run can be changed; fields that the patch leaves out stay.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        patch: the changes; null empties.
        expected: the versions that may be changed.

    Raises:
        NotFoundError: there is no such run.
        PreconditionError: its version is not expected.
        StateError: it is in the trash, or executed by us, or was cancelled and is to have ended
            otherwise, or the experiment is archived.
        InvalidError: a value breaks its rule.
    """
    row = await _lock(connection, run_id)
    (expected or Expected()).check(row["version"], what="run")
    _refuse_trashed(row)
    faults = _text_faults(patch)
    if faults:
        raise InvalidError(faults)
    end = _end(patch, row)
    wanted = {
        "name": _given(patch.name, row["name"]) or "",
        "note": _given(patch.note, row["note"]) or "",
        "reason": _given(patch.reason, _kept_reason(row, end["status"])),
        "experiment": await _experiment(connection, patch, row),
        **end,
    }
    before = {**row, "experiment": row["experiment_id"]}
    if all(before[name] == value for name, value in wanted.items()):
        return
    is_alive = wanted["status"] == RunStatus.RUNNING and row["status"] != RunStatus.RUNNING
    await connection.execute(query("life.change"), {"run": run_id, **wanted, "is_alive": is_alive})


async def cancel_run(
    connection: Connection, run_id: UUID, *, by: str, expected: Expected | None = None
) -> None:
    """Stop a run that goes on, or waits; one that was cancelled before stays as it is.

    A program that logs from outside learns of it by the answer to its next sign of life.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        by: who says so.
        expected: the versions that may be changed.

    Raises:
        NotFoundError: there is no such run.
        PreconditionError: its version is not expected.
        StateError: it has ended otherwise, or is in the trash.
    """
    row = await _lock(connection, run_id)
    (expected or Expected()).check(row["version"], what="run")
    _refuse_trashed(row)
    status = RunStatus(row["status"])
    if status is RunStatus.CANCELLED:
        return
    if status.is_final:
        raise StateError(
            f"The run has {status.value} already; only one that goes on is cancelled."
        )
    await connection.execute(
        query("life.change"),
        {
            "run": run_id,
            "name": row["name"],
            "note": row["note"],
            "reason": f"cancelled by {by}",
            "status": RunStatus.CANCELLED.value,
            "experiment": row["experiment_id"],
            "finished": datetime.now(UTC),
            "is_alive": False,
        },
    )


async def retry_run(connection: Connection, run_id: UUID, *, by: str) -> UUID:
    """Make a run that tries again what another one was to do, in its experiment and linked to it.

    It has the name, the note, the tags, the parent and the spec, and begins an empty log. One that is
    logged from outside runs at once; one with a spec waits for a runner.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        by: who says so.

    Returns:
        The number of the new run.

    Raises:
        NotFoundError: there is no such run.
        StateError: it still goes on or waits, is in the trash, or its experiment is archived.
    """
    row = await _lock(connection, run_id)
    _refuse_trashed(row)
    status = RunStatus(row["status"])
    if not status.is_final and status is not RunStatus.LOST:
        raise StateError(
            f"The run is {status.value}: wait for its end, or POST …/cancel, before it is tried "
            "again."
        )
    if row["experiment_id"] is not None:
        await find_experiment(
            connection,
            row["project_id"],
            text_from_uuid(EXPERIMENT, row["experiment_id"]),
            pointer="/experiment",
        )
    is_external = row["kind"] == RunKind.EXTERNAL
    about = {"run": run_id, "id": new_uuid()}
    await connection.execute(
        query("life.retry"),
        {
            **about,
            "status": (RunStatus.RUNNING if is_external else RunStatus.QUEUED).value,
            "user": by,
            "is_alive": is_external,
        },
    )
    await connection.execute(query("life.copy_tags"), about)
    return about["id"]


async def trash_run(
    connection: Connection, run_id: UUID, *, by: str, expected: Expected | None = None
) -> None:
    """Put a run into the trash, where it stays restorable for a while; again changes nothing.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        by: who says so, for the audit.
        expected: the versions that may be put there.

    Raises:
        NotFoundError: there is no such run.
        PreconditionError: its version is not expected.
    """
    row = await _lock(connection, run_id)
    (expected or Expected()).check(row["version"], what="run")
    if row["trashed"] is None:
        await connection.execute(query("life.trash"), {"run": run_id, "is_trashed": True})
        await record(connection, by, "run.trash", text_from_uuid(RUN, run_id))


async def restore_run(connection: Connection, run_id: UUID, *, by: str) -> None:
    """Take a run out of the trash; one that is not there stays as it is.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        by: who says so, for the audit.

    Raises:
        NotFoundError: there is no such run, or its days in the trash are over.
    """
    row = await _lock(connection, run_id)
    if row["trashed"] is not None:
        await connection.execute(query("life.trash"), {"run": run_id, "is_trashed": False})
        await record(connection, by, "run.restore", text_from_uuid(RUN, run_id))


async def _lock(connection: Connection, run_id: UUID) -> dict[str, Any]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query("life.lock"), {"run": run_id})
        row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("There is no such run.")
    return row


def _refuse_trashed(row: dict[str, Any]) -> None:
    if row["trashed"] is not None:
        raise StateError("The run is in the trash: POST …/restore brings it back.")


def _given(value: object, before: object) -> Any:
    return before if value is UNSET else value


def _kept_reason(row: dict[str, Any], status: str) -> str | None:
    """Return the reason that stays: an end's goes with the end."""
    before = RunStatus(row["status"])
    has_left = status != before.value and (before.is_final or before is RunStatus.LOST)
    return None if has_left else row["reason"]


def _text_faults(patch: RunPatch) -> list[Fault]:
    checks = (("/name", patch.name, check_name), ("/note", patch.note, check_note))
    return [
        Fault(pointer, wrong)
        for pointer, text, check in checks
        if isinstance(text, str) and (wrong := check(text)) is not None
    ]


def _end(patch: RunPatch, row: dict[str, Any]) -> dict[str, Any]:
    """Return the status and the end that a patch leads to."""
    is_external = row["kind"] == RunKind.EXTERNAL
    if not is_external and (patch.status is not UNSET or patch.finished is not UNSET):
        raise StateError(
            f"The status of a run of kind {row['kind']} is said by who executes it; POST …/cancel "
            "stops it."
        )
    status = RunStatus(row["status"]) if patch.status is UNSET else patch.status
    if patch.status is not UNSET and status not in _OWN_STATUSES:
        words = tuple(one.value for one in _OWN_STATUSES)
        raise InvalidError(
            Fault(
                "/status",
                f"{status.value!r} is no status of a run that is logged from outside: one of "
                f"{', '.join(words)}",
                expected=words,
            )
        )
    _keep_cancelled(row, status)
    finished = row["finished"]
    if not status.is_final:
        if patch.finished is not UNSET:
            raise InvalidError(
                Fault("/finished", f"a run that is {status.value} has not ended; send its status")
            )
        # A run that goes on has no end any more.
        return {"status": status.value, "finished": None if is_external else finished}
    if patch.finished is not UNSET:
        finished = _checked_end(patch.finished, row["started"] or row["created"])
    elif finished is None and is_external:
        finished = datetime.now(UTC)
    return {"status": status.value, "finished": finished}


def _keep_cancelled(row: dict[str, Any], status: RunStatus) -> None:
    """Refuse another end of a run that was cancelled.

    Its program may not have heard of it yet: what it says at its end must not hide that somebody
    stopped it.
    """
    if row["status"] != RunStatus.CANCELLED or status in {RunStatus.CANCELLED, RunStatus.RUNNING}:
        return
    why = f" ({row['reason']})" if row["reason"] else ""
    raise StateError(
        f"The run was cancelled{why}, which {status.value!r} does not replace. Whoever means it lets "
        "the run go on first: status 'running'.",
        [Fault("/status", "of a cancelled run: 'running' or 'cancelled'")],
    )


def _checked_end(finished: datetime, started: datetime) -> datetime:
    wrong = check_time(finished, now_us=time.time_ns() // 1_000)
    if wrong is None and finished < started:
        wrong = f"{finished.isoformat()} is before the run began ({started.isoformat()})"
    if wrong is not None:
        raise InvalidError(Fault("/finished", wrong))
    return finished


async def _experiment(connection: Connection, patch: RunPatch, row: dict[str, Any]) -> UUID | None:
    """Return the experiment that a patch moves the run into; an archived one takes no more."""
    before: UUID | None = row["experiment_id"]
    if patch.experiment is UNSET or patch.experiment is None:
        return None if patch.experiment is None else before
    return await find_experiment(
        connection, row["project_id"], patch.experiment, pointer="/experiment", joined=before
    )
