"""Documents of a run: the environment it ran in and its config, each as JSON, by stream and rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mapi.database.queries import query
from mapi.errors import Fault, InvalidError, NotFoundError
from mapi.tracking.texts import json_text
from mapi.tracking.writing import API, Added, Sender, close_writing, open_writing
from mapi.wire.notes import DOCUMENT_BYTES_MAX, DocumentPlace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID

    from mapi.database.door import Connection

__all__ = ["DOCUMENTS_MAX", "get_document", "list_documents", "put_document"]

#: Of one run: both of 500 streams and ranks.
DOCUMENTS_MAX: Final = 1_000


async def put_document(
    connection: Connection,
    run_id: UUID,
    *,
    name: str,
    content: Mapping[str, Any],
    time: datetime | None = None,
    sender: Sender = API,
) -> None:
    """Keep a document in place of what had its name, stream and rank.

    Args:
        connection: a transaction of the run's tenant.
        run_id: the run.
        name: ``environment`` or ``config``.
        content: the document.
        time: when it was put; by default now.
        sender: who writes.

    Raises:
        NotFoundError: there is no such run.
        ForbiddenError: the sender may not write there.
        StateError: the run is in the trash.
        InvalidError: it is too long, or the run has too many.
    """
    text = json_text(content, "/content", bytes_max=DOCUMENT_BYTES_MAX)
    writing = await open_writing(connection, run_id, sender)
    await connection.execute(
        query("documents.put"), {**writing.about, "name": name, "content": text, "time": time}
    )
    cursor = await connection.execute(query("documents.count"), {"run": run_id})
    row = await cursor.fetchone()
    if row is not None and row[0] > DOCUMENTS_MAX:
        raise InvalidError(Fault("", f"a run has {DOCUMENTS_MAX} documents at most"))
    await close_writing(writing, Added())


async def get_document(
    connection: Connection, run_id: UUID, name: str, *, stream: str = "", rank: int = 0
) -> tuple[str, datetime]:
    """Return the JSON of a document, and when it was put.

    Raises:
        NotFoundError: the run has none of this name, stream and rank.
    """
    cursor = await connection.execute(
        query("documents.get"), {"run": run_id, "name": name, "stream": stream, "rank": rank}
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"The run has no {name} of this stream and rank.")
    return row[0], row[1]


async def list_documents(connection: Connection, run_id: UUID) -> list[DocumentPlace]:
    """Return which documents a run has, by name, stream and rank."""
    cursor = await connection.execute(query("documents.list"), {"run": run_id})
    return [
        DocumentPlace(name=name, stream=stream, rank=rank, time=time)
        for name, stream, rank, time in await cursor.fetchall()
    ]
