"""Media items: images and small tables, checked, kept in the object store, listed in the database.

The order keeps both honest. Bytes are written first, under a key that nobody has yet; then one
transaction, which locks the run, makes the row. Where that is refused, or finds the same bytes at
the same place, the object goes again. What a row let go of is deleted behind its transaction. A
process that is killed in between leaves an object without a row, which is collected later; it never
leaves a row without its object.

Other bytes at the same place replace an item, so of what a queue sends each is kept in its turn alone
(`mapi.tracking.sequence`): in the transaction that moves its writer on, as a correction is.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from psycopg.rows import dict_row

from mapi.access.identifiers import new_uuid
from mapi.database.queries import query
from mapi.errors import (
    Fault,
    InvalidError,
    MapiError,
    NotFoundError,
    OutOfTurnError,
    QuotaError,
    UnavailableError,
)
from mapi.series.budgets import Drops, fit_sizes
from mapi.series.media_headers import media_header
from mapi.series.names import labels_hash
from mapi.tracking.batch import SCALAR_STEP
from mapi.tracking.letting_go import delete_object, let_go
from mapi.tracking.live import media_from_row
from mapi.tracking.sequence import late_seq
from mapi.tracking.writing import Added, advance_writer, close_writing, open_writing
from mapi.wire.enums import Budget, MediaFormat, WarningCode
from mapi.wire.problems import no_room_fault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from mapi.database.door import Connection, Database, Reach
    from mapi.objects.store import ObjectStore
    from mapi.series.media_headers import MediaHeader
    from mapi.series.names import Labels
    from mapi.tracking.writing import Sender, Writing
    from mapi.wire.media import MediaFacts

__all__ = [
    "CONTENT_TYPES",
    "MediaObject",
    "MediaPlace",
    "MediaPosition",
    "check_content",
    "get_media",
    "list_media",
    "media_folder",
    "record_media",
    "refused_size",
    "warn_of_rejected",
]

#: How content is sent and served, by what it is. A table is served as plain JSON: no browser shows
#: it as anything else.
CONTENT_TYPES: Final[Mapping[MediaFormat, str]] = {
    MediaFormat.PNG: "image/png",
    MediaFormat.JPEG: "image/jpeg",
    MediaFormat.TABLE: "application/json",
}
#: Warnings of one run: more would tell nobody anything new.
_REJECTED_WARNINGS_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class MediaPlace:
    """Where an item belongs; other bytes at the same place replace it."""

    key: str
    labels: Labels
    """Checked, with those that say who wrote."""
    step: int | None
    caption: str
    time: datetime

    @property
    def about(self) -> dict[str, Any]:
        """The place, as statements take it."""
        return {
            "key": self.key,
            "labels": json.dumps(dict(self.labels), ensure_ascii=False),
            "labels_hash": labels_hash(self.labels),
            "step": SCALAR_STEP if self.step is None else self.step,
            "caption": self.caption,
            "time": self.time,
        }


@dataclass(frozen=True, slots=True)
class MediaObject:
    """What an item's content is and where it is kept."""

    facts: MediaFacts
    object_key: str


@dataclass(frozen=True, slots=True)
class _Written:
    """An item that was just made."""

    facts: MediaFacts
    let_go: tuple[str, ...]
    """The object of the item that it replaced, if it did."""


@dataclass(frozen=True, slots=True)
class MediaPosition:
    """Where a page of items ended."""

    key: str
    labels_text: str
    labels_hash: int
    step: int


def media_folder(tenant_id: int, run_id: UUID) -> str:
    """Return where the store keeps the content of a run's items."""
    return f"media/{tenant_id}/{run_id}"


def check_content(content: bytes, *, said: MediaFormat | None) -> MediaHeader:
    """Return what content is.

    Args:
        content: the bytes.
        said: what their sender says they are; ``None`` says nothing.

    Raises:
        InvalidError: it is none of the formats, broken, or another one than was said.
    """
    header = media_header(content)
    if said is not None and header.format is not said:
        raise InvalidError(
            Fault(
                "",
                f"the content is {header.format.value}, and was sent as {said.value}",
                code=WarningCode.MEDIA_REJECTED,
            )
        )
    return header


async def record_media(  # noqa: PLR0913 - the two stores, who, where and what
    database: Database,
    store: ObjectStore,
    reach: Reach,
    *,
    run_id: UUID,
    sender: Sender,
    place: MediaPlace,
    content: bytes,
    header: MediaHeader,
) -> tuple[MediaFacts, bool]:
    """Keep an item.

    Args:
        database: where its row goes.
        store: where its bytes go.
        reach: of the sender.
        run_id: the run.
        sender: who writes, and where in a queue.
        place: where it belongs.
        content: its bytes.
        header: what `check_content` found in them.

    Returns:
        The item, and whether it is new; the same bytes at the same place are not, but for their caption.

    Raises:
        NotFoundError: there is no such run.
        ForbiddenError: the sender may not write there.
        StateError: the run is in the trash.
        OutOfTurnError: it is not its turn, or it was and the item is there no more.
        InvalidError: the run has too many writers.
        QuotaError: the run's budget has no room for it.
        UnavailableError: a store does not answer.
    """
    sha256 = hashlib.sha256(content).digest()

    async def look(connection: Connection) -> MediaObject | QuotaError | None:
        writing = await open_writing(connection, run_id, sender)
        return await _known_or_refused(writing, place, sha256, size_bytes=len(content))

    # Before anything is stored: most of what is sent twice, or is too much, ends here.
    found = await database.run(reach, look)
    if isinstance(found, QuotaError):
        raise found
    if found is not None:
        return found.facts, False
    media_id = new_uuid()
    object_key = f"{media_folder(reach.tenant_id, run_id)}/{media_id}"

    async def write(connection: Connection) -> _Written | MediaObject | QuotaError:
        writing = await open_writing(connection, run_id, sender)
        known = await _known_or_refused(writing, place, sha256, size_bytes=len(content))
        if known is not None:
            return known
        replaced = await _find(writing, place)
        await connection.execute(
            query("media.write"),
            {
                **writing.about,
                **place.about,
                **_of_header(header),
                "id": media_id,
                "size_bytes": len(content),
                "sha256": sha256,
                "object_key": object_key,
            },
        )
        await close_writing(writing, _added(len(content), replaced))
        await _move_on(writing)
        made = await get_media(connection, run_id, media_id)
        return _Written(made.facts, () if replaced is None else (replaced.object_key,))

    await store.put(object_key, content)
    try:
        written = await database.run(reach, write)
    except UnavailableError:
        # The answer to a commit was not heard, so there may be a row, and the object stays, as it
        # does where this is stopped in its midst; without a row it is collected later.
        raise
    except MapiError:
        await delete_object(store, object_key)
        raise
    if isinstance(written, _Written):
        await let_go(database, store, written.let_go)
        return written.facts, True
    # Somebody was faster, or spent the budget.
    await delete_object(store, object_key)
    if isinstance(written, QuotaError):
        raise written
    return written.facts, False


def _added(size_bytes: int, replaced: MediaObject | None) -> Added:
    if replaced is None:
        return Added(media_items=1, media_bytes=size_bytes)
    return Added(media_bytes=size_bytes - replaced.facts.size_bytes)


def _of_header(header: MediaHeader) -> dict[str, Any]:
    return {"format": header.format.value, "width": header.width, "height": header.height}


async def _known_or_refused(
    writing: Writing, place: MediaPlace, sha256: bytes, *, size_bytes: int
) -> MediaObject | QuotaError | None:
    """Return the item if it is there already, or why it is not kept; the drop is counted.

    Either way that was its turn. ``None``: it is to be written.
    """
    late = await late_seq(writing)
    found = await _find(writing, place)
    is_there = found is not None and found.facts.sha256 == sha256.hex()
    if late is not None and not is_there:
        sender = writing.sender
        raise OutOfTurnError(
            f"Number {sender.seq} of writer {sender.writer!r}, which stands at {late}, was taken "
            "before, and other bytes stand at its place or none: send what comes behind it.",
            late,
        )
    if found is not None and is_there:
        if late is None:
            found = await _said_anew(writing, place, found)
            await _move_on(writing)
        return found
    budget = _lacking(writing, found, size_bytes=size_bytes)
    # The bytes are the body, or were sent before.
    return None if budget is None else await _refusal(writing, budget, pointer="")


async def _said_anew(writing: Writing, place: MediaPlace, found: MediaObject) -> MediaObject:
    """Return an item with the caption of its sender, and since when it is called so."""
    if found.facts.caption == place.caption:
        return found
    await writing.connection.execute(query("media.say_anew"), {**writing.about, **place.about})
    await close_writing(writing, Added())
    return await _find(writing, place) or found


async def _move_on(writing: Writing) -> None:
    """Remember that the item was taken, or refused for good; a part of what follows moves nothing."""
    sender = writing.sender
    if sender.seq is not None and sender.seq != sender.after:
        await advance_writer(writing, sender.seq)


async def refused_size(writing: Writing, size_bytes: int) -> QuotaError | None:
    """Return why an item of this size is not kept, whatever else the run has; the drop is counted."""
    limit = writing.budgets.media_item_bytes
    if limit is None or size_bytes <= limit:
        return None
    return await _refusal(writing, Budget.MEDIA_ITEM_BYTES, pointer="/size_bytes")


async def _refusal(writing: Writing, budget: Budget, *, pointer: str) -> QuotaError:
    drops = Drops.of({budget: 1})
    warning = await close_writing(writing, Added(), drops=drops)
    await _move_on(writing)
    return QuotaError(
        warning or "The run has spent a budget.",
        {
            "accepted": 0,
            "duplicates": 0,
            "rejected": 1,
            "accepted_seq": writing.sender.seq,
            "errors": [no_room_fault(pointer, budget)],
        },
    )


def _lacking(writing: Writing, replaced: MediaObject | None, *, size_bytes: int) -> Budget | None:
    """Return the budget that has no room for an item."""
    budgets, usage = writing.budgets, writing.usage
    if budgets.media_item_bytes is not None and size_bytes > budgets.media_item_bytes:
        return Budget.MEDIA_ITEM_BYTES
    items, total = usage.media_items, usage.media_bytes
    if replaced is not None:
        items, total = items - 1, total - replaced.facts.size_bytes
    (is_kept,), (lacks_bytes,) = fit_sizes(
        (budgets.media_items, budgets.media_bytes), stored=(items, total), sizes=[size_bytes]
    )
    if is_kept:
        return None
    return Budget.MEDIA_BYTES if lacks_bytes else Budget.MEDIA_ITEMS


async def _find(writing: Writing, place: MediaPlace) -> MediaObject | None:
    async with writing.connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query("media.find"), {"run": writing.run_id, **place.about})
        row = await cursor.fetchone()
    return None if row is None else MediaObject(media_from_row(row), row["object_key"])


async def get_media(connection: Connection, run_id: UUID, media_id: UUID) -> MediaObject:
    """Return one item.

    Raises:
        NotFoundError: the run has none of this number.
    """
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query("media.get"), {"run": run_id, "id": media_id})
        row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("The run has no such media item.")
    return MediaObject(media_from_row(row), row["object_key"])


async def list_media(  # noqa: PLR0913 - the parts of the question
    connection: Connection,
    run_id: UUID,
    *,
    keys: Sequence[str] | None,
    labels: Mapping[str, str],
    step: int | None,
    after: MediaPosition | None,
    limit: int,
) -> tuple[list[MediaFacts], MediaPosition | None]:
    """Return a page of items, by key, labels and step.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        keys: only these; ``None`` is all.
        labels: only items that have all of these, among others.
        step: only this one.
        after: where the page before ended.
        limit: of the page.

    Returns:
        The items, and the position at their end if there are more.
    """
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            query("media.page"),
            {
                "run": run_id,
                "keys": None if keys is None else list(keys),
                "labels": json.dumps(dict(labels)),
                "step": step,
                "after_key": None if after is None else after.key,
                "after_labels": None if after is None else after.labels_text,
                "after_hash": None if after is None else after.labels_hash,
                "after_step": None if after is None else after.step,
                "limit": limit + 1,
            },
        )
        rows = await cursor.fetchall()
    found = [media_from_row(row) for row in rows[:limit]]
    if len(rows) <= limit:
        return found, None
    end = rows[limit - 1]
    return found, MediaPosition(end["key"], end["labels_text"], end["labels_hash"], end["step"])


async def warn_of_rejected(
    connection: Connection, run_id: UUID, sender: Sender, *, key: str | None, reason: str
) -> None:
    """Write the warning that content was not what it had to be; nothing of it is kept.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        sender: who sent it.
        key: what it was to be kept under; ``None`` where bytes came before anybody said.
        reason: what was wrong.

    Raises:
        NotFoundError: there is no such run.
        ForbiddenError: the sender may not write there.
        StateError: the run is in the trash.
    """
    what = "An upload" if key is None else f"Media {key!r}"
    writing = await open_writing(connection, run_id, sender)
    cursor = await connection.execute(query("media.count_rejected"), {"run": run_id})
    (count,) = await cursor.fetchone() or (0,)
    if count < _REJECTED_WARNINGS_MAX:
        await connection.execute(
            query("media.warn_of_rejected"),
            {
                "run": run_id,
                "message": f"{what} was not kept: {reason}",
                "fields": json.dumps({"key": key, "reason": reason}),
                "change_seq": writing.change_seq,
            },
        )
        await close_writing(writing, Added())
