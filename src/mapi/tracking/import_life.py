"""The lines of an imported file that tell what happened to a run where it was before.

An entry keeps its number, so that the same file again brings nothing twice and what happens here comes
behind. Only a run that an import has made takes them: one that was logged here has a life of its own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from mapi.access.identifiers import EXPERIMENT, uuid_from_text
from mapi.database.queries import query
from mapi.errors import NotFoundError
from mapi.series.names import check_name
from mapi.series.prunings import PRUNED
from mapi.tracking.pruned import MEDIA_RULE, TRACKING_RULE
from mapi.tracking.writing import Added, close_writing, open_writing
from mapi.wire.enums import Budget, LifeKind, RunStatus, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from mapi.database.door import Connection
    from mapi.tracking.writing import Sender
    from mapi.wire.exchange import LifeLine

__all__ = ["check_life", "write_life"]

#: Which members a kind has, beside those that all have.
_MEMBERS: Final = {
    LifeKind.STATUS: ("before", "after", "reason"),
    LifeKind.RENAMED: ("before", "after"),
    LifeKind.MOVED: ("before", "after"),
    LifeKind.TRASHED: (),
    LifeKind.RESTORED: (),
    LifeKind.PRUNED: ("counts", "days", "rule"),
    LifeKind.WARNING: ("code", "message", "counts"),
}
#: Members that not every kind has, with what they are where they are missing.
_MISSING: Final[dict[str, Any]] = {
    **dict.fromkeys(("before", "after", "reason", "code", "days", "rule")),
    "message": "",
    "counts": {},
}
_RULES: Final = (TRACKING_RULE, MEDIA_RULE)


def check_life(line: LifeLine) -> tuple[str, str] | None:
    """Return which member of an entry cannot be, and why; ``None`` where all can."""
    for name, missing in _MISSING.items():
        if name not in _MEMBERS[line.kind] and getattr(line, name) != missing:
            return name, f"an entry of the kind {line.kind.value!r} has none"
    match line.kind:
        case LifeKind.STATUS | LifeKind.RENAMED | LifeKind.MOVED:
            return _check_sides(line)
        case LifeKind.PRUNED:
            return _check_pruning(line)
        case LifeKind.WARNING:
            if line.code is None:
                return "code", "a warning has one"
            return _check_counts(line, [budget.value for budget in Budget])
        case LifeKind.TRASHED | LifeKind.RESTORED:
            return None


def _check_sides(line: LifeLine) -> tuple[str, str] | None:
    check = {
        LifeKind.STATUS: _check_status,
        LifeKind.RENAMED: check_name,
        LifeKind.MOVED: _check_experiment,
    }[line.kind]
    for name in ("before", "after"):
        text = getattr(line, name)
        wrong = None if text is None else check(text)
        if wrong is not None:
            return name, wrong
    return None


def _check_status(text: str) -> str | None:
    if text in {status.value for status in RunStatus}:
        return None
    return f"{text[:80]!r} is no status: one of {', '.join(RunStatus)}"


def _check_experiment(text: str) -> str | None:
    try:
        uuid_from_text(EXPERIMENT, text)
    except NotFoundError:
        return f"{text[:80]!r} is no id: {EXPERIMENT} and a UUID"
    return None


def _check_pruning(line: LifeLine) -> tuple[str, str] | None:
    if line.days is None:
        return "days", "a pruning has them"
    if line.rule not in _RULES:
        return "rule", f"it is one of {', '.join(_RULES)}"
    if not line.counts:
        return "counts", "nothing was deleted: a pruning counts what was"
    return _check_counts(line, list(PRUNED))


def _check_counts(line: LifeLine, words: Sequence[str]) -> tuple[str, str] | None:
    for word in line.counts:
        if word not in words:
            return "counts", f"{word[:80]!r} is none of {', '.join(words)}"
    return None


async def write_life(
    connection: Connection,
    run_id: UUID,
    lines: Sequence[LifeLine],
    *,
    sender: Sender,
    here: Callable[[UUID], UUID],
) -> int:
    """Write entries that are not there.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run; an import has made it.
        lines: what the file says.
        sender: who imports. In the name of others, and of the platform, only an admin does.
        here: which experiment stands here for one of the file.

    Returns:
        How many were not taken since the run has others under their numbers.
    """
    writing = await open_writing(connection, run_id, sender)
    who = sender.principal
    named = who is None or who.may(Scope.ADMIN, writing.project_id)
    cursor = await connection.execute(
        query("importing.insert_life"),
        {
            **writing.about,
            "ids": [one.id for one in lines],
            "times": [one.time for one in lines],
            "kinds": [one.kind.value for one in lines],
            "codes": [None if one.code is None else one.code.value for one in lines],
            "messages": [one.message for one in lines],
            "fields": [json.dumps(_fields(one, here)) for one in lines],
            "users": [one.user if who is None or named else who.name for one in lines],
        },
    )
    made, others = await cursor.fetchone() or (0, 0)
    if made:
        await close_writing(writing, Added())
    return int(others)


def _fields(line: LifeLine, here: Callable[[UUID], UUID]) -> dict[str, Any]:
    """Return what an entry has beside its text, as the database writes it down."""
    before, after = line.before, line.after
    if line.kind is LifeKind.MOVED:
        before, after = (
            None if one is None else str(here(uuid_from_text(EXPERIMENT, one)))
            for one in (before, after)
        )
    found = {
        "from": before,
        "to": after,
        "reason": line.reason,
        "counts": line.counts or None,
        "days": line.days,
        "rule": line.rule,
    }
    return {name: value for name, value in found.items() if value is not None}
