"""What a run says in words: params, written once, and tags, of which the last value stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mapi.access.audit import record
from mapi.access.identifiers import RUN, text_from_uuid
from mapi.database.door import together
from mapi.database.queries import query
from mapi.errors import Fault, InvalidError, NotFoundError, ParamConflictError
from mapi.series.budgets import Drops, fit_count
from mapi.series.config_leaves import param_text
from mapi.series.names import check_param, check_tag
from mapi.series.numbers import number_from_text
from mapi.tracking.writing import (
    API,
    Added,
    Counts,
    Sender,
    ask_for_run,
    close_writing,
    open_writing,
)
from mapi.wire.decoding import pointer
from mapi.wire.enums import Budget, Source
from mapi.wire.notes import ParamFacts, TagFacts, Tags
from mapi.wire.values import value_to_wire

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from psycopg.rows import TupleRow

    from mapi.database.door import Connection
    from mapi.tracking.writing import Writing

__all__ = [
    "check_tags",
    "delete_tag",
    "list_params",
    "list_tags",
    "texts_of_params",
    "write_params",
    "write_tags",
]

#: Of the texts of one page: 5 000 params of 64 KiB are no answer that anyone could read.
_PAGE_BYTES_MAX: Final = 4 << 20
#: An error names so many params; each of them has a fault.
_NAMED_MAX: Final = 10


async def write_params(
    connection: Connection, run_id: UUID, params: Mapping[str, Any], *, sender: Sender = API
) -> Counts:
    """Write params; the same value again is no change.

    Of a runner, which cannot be answered, a param with another value is dropped and counted.

    Raises:
        InvalidError: a key or a value breaks its rule.
        ParamConflictError: one has another value; nothing was written.
        NotFoundError: there is no such run.
        ForbiddenError: the sender may not write there.
        StateError: the run is in the trash.
    """
    texts = texts_of_params(params)
    writing, rows, stored = await _open(
        connection, run_id, list(texts), sender=sender, of="params"
    )
    known: dict[str, str] = dict(rows)
    conflicts = [key for key in texts if known.get(key, texts[key]) != texts[key]]
    if conflicts and sender.source is not Source.RUNNER:
        named = ", ".join(conflicts[:_NAMED_MAX]) + (", …" if conflicts[_NAMED_MAX:] else "")
        said = "1 param has" if len(conflicts) == 1 else f"{len(conflicts)} params have"
        raise ParamConflictError(
            f"{said} another value already ({named}); a param is written once. "
            "Nothing was written.",
            [
                Fault(pointer("params", key), f"the param {key} is {known[key][:80]!r} already")
                for key in conflicts
            ],
        )
    new = [key for key in texts if key not in known]
    fitting = fit_count(writing.budgets.params, stored=stored, given=len(new))
    kept, dropped = new[:fitting], new[fitting:]
    async with together(connection):
        if kept:
            await connection.execute(
                query("notes.insert_params"),
                {
                    **writing.about,
                    "keys": kept,
                    "texts": [texts[key] for key in kept],
                    "numbers": [number_from_text(texts[key]) for key in kept],
                },
            )
        return await _close(
            writing,
            list(texts),
            Counts(len(kept), len(texts) - len(new), len(conflicts)),
            dropped=dict.fromkeys(dropped, Budget.PARAMS),
        )


async def list_params(
    connection: Connection, run_id: UUID, *, after: str = ""
) -> tuple[dict[str, ParamFacts], str | None]:
    """Return a page of the params of a run by key, and the key to go on behind, if there are more."""
    cursor = await connection.execute(
        query("notes.list_params"),
        {"run": run_id, "after": after, "bytes_max": _PAGE_BYTES_MAX},
    )
    found = {
        key: ParamFacts(
            text=text,
            number=None if number is None else value_to_wire(number),
            source=Source(source),
            user=user,
            time=time,
        )
        for key, text, number, source, user, time in await cursor.fetchall()
    }
    # A page that was cut short is nearly full, or its last param alone is large.
    is_full = sum(len(one.text.encode()) for one in found.values()) >= _PAGE_BYTES_MAX
    return found, list(found)[-1] if is_full else None


async def write_tags(
    connection: Connection, run_id: UUID, tags: Mapping[str, str], *, sender: Sender = API
) -> Counts:
    """Write tags; the last value of a key stays.

    Raises:
        InvalidError: a key or a value breaks its rule.
        NotFoundError: there is no such run.
        ForbiddenError: the sender may not write there.
        StateError: the run is in the trash.
    """
    check_tags(tags)
    writing, rows, stored = await _open(connection, run_id, list(tags), sender=sender, of="tags")
    known = {row[0] for row in rows}
    new = [key for key in tags if key not in known]
    dropped = new[fit_count(writing.budgets.tags, stored=stored, given=len(new)) :]
    kept = [key for key in tags if key not in dropped]
    cursor = await connection.execute(
        query("notes.upsert_tags"),
        {**writing.about, "keys": kept, "texts": [tags[key] for key in kept]},
    )
    return await _close(
        writing,
        list(tags),
        Counts(cursor.rowcount, len(kept) - cursor.rowcount),
        dropped=dict.fromkeys(dropped, Budget.TAGS),
    )


async def delete_tag(
    connection: Connection, run_id: UUID, key: str, *, sender: Sender = API
) -> None:
    """Delete a tag; the audit keeps what it was.

    Raises:
        InvalidError: the platform writes this tag.
        NotFoundError: there is no such run, or no such tag.
        ForbiddenError: the sender may not write there.
        StateError: the run is in the trash.
    """
    wrong = check_tag(key, "")
    if wrong is not None:
        raise InvalidError(Fault("/path/key", wrong))
    writing = await open_writing(connection, run_id, sender)
    cursor = await connection.execute(query("notes.delete_tag"), {"run": run_id, "key": key})
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"The run has no tag {key!r}.")
    await record(
        connection,
        "mapi" if sender.principal is None else sender.principal.name,
        "tag.delete",
        text_from_uuid(RUN, run_id),
        key=key,
        text=row[0],
    )
    await close_writing(writing, Added(), is_removal=True)


async def list_tags(connection: Connection, run_id: UUID) -> Tags:
    """Return the tags of a run by key."""
    cursor = await connection.execute(query("notes.list_tags"), {"run": run_id})
    found = Tags(tags={})
    for key, text, source, user, time in await cursor.fetchall():
        found.tags[key] = text
        found.written[key] = TagFacts(source=Source(source), user=user, time=time)
    return found


async def _open(
    connection: Connection, run_id: UUID, keys: list[str], *, sender: Sender, of: str
) -> tuple[Writing, list[TupleRow], int]:
    """Lock a run; return also what it has of the keys, and how many keys it has in all."""
    async with together(connection):
        asked = await ask_for_run(connection, run_id)
        known = await connection.execute(query(f"notes.find_{of}"), {"run": run_id, "keys": keys})
        counted = await connection.execute(query(f"notes.count_{of}"), {"run": run_id})
    writing = await open_writing(connection, run_id, sender, asked=asked)
    (stored,) = await counted.fetchone() or (0,)
    return writing, await known.fetchall(), stored


async def _close(
    writing: Writing, keys: list[str], counts: Counts, *, dropped: Mapping[str, Budget]
) -> Counts:
    """Close the write of notes, and return its counts with what was dropped."""
    drops = Drops.of({budget: len(dropped) for budget in dropped.values()})
    warning = None
    if counts.accepted or drops:
        warning = await close_writing(writing, Added(), drops=drops)
    places = {key: at for at, key in enumerate(keys)}
    return Counts(
        counts.accepted,
        counts.duplicates,
        counts.conflicts,
        len(dropped),
        rejected_by={places[key]: budget for key, budget in dropped.items()},
        warning=warning,
    )


def texts_of_params(params: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts that params are kept as.

    Raises:
        InvalidError: a key or a value breaks its rule.
    """
    texts = {key: param_text(value) for key, value in params.items()}
    _raise_any(
        [
            Fault(pointer("params", key), wrong)
            for key, text in texts.items()
            if (wrong := check_param(key, text))
        ]
    )
    return texts


def check_tags(tags: Mapping[str, str]) -> None:
    """Let through tags that a user may write.

    Raises:
        InvalidError: a key or a value breaks its rule.
    """
    _raise_any(
        [
            Fault(pointer("tags", key), wrong)
            for key, text in tags.items()
            if (wrong := check_tag(key, text))
        ]
    )


def _raise_any(faults: list[Fault]) -> None:
    if faults:
        raise InvalidError(faults)
