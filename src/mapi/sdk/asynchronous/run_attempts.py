"""The attempts at a run, and the documents that each of its producers has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from mapi.sdk.arguments import query_of
from mapi.sdk.asynchronous.resource import AsyncResource
from mapi.sdk.calls import id_of
from mapi.sdk.checks import checked, checked_producer, given, plain, time_text
from mapi.wire.administration import RunBudgets
from mapi.wire.metrics import Writers
from mapi.wire.notes import DOCUMENT_BYTES_MAX, Document, DocumentFacts, DocumentList
from mapi.wire.runs import AttemptBody, AttemptEnd, AttemptFacts, AttemptList

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mapi.sdk.calls import Named, Producer
    from mapi.sdk.checks import Time
    from mapi.wire.administration import BudgetUse
    from mapi.wire.enums import Budget
    from mapi.wire.notes import DocumentPlace

__all__ = ["AsyncRunAttempts"]

#: What stands around a document when it is sent: the name of a stream has at most 200 characters.
_FRAME_BYTES: Final = 2_048


class AsyncRunAttempts(AsyncResource):
    """Attempts and documents."""

    async def begin_attempt(
        self,
        run: Named,
        number: int,
        *,
        from_step: int | None = None,
        started: Time | None = None,
        producer: Producer | None = None,
    ) -> AttemptFacts:
        """Say that a producer goes at the run once more; the same again changes nothing.

        From ``from_step`` on, what older attempts of it logged is superseded; before, it stays.

        Args:
            run: which.
            number: 1 for the first.
            from_step: where it takes over.
            started: by default now.
            producer: whose attempt it is, where the run has several.

        Raises:
            StateConflictError: it is registered already, from another step.
        """
        who = checked_producer(producer)
        sent = given(
            stream=who.stream,
            rank=who.rank,
            number=number,
            from_step=from_step,
            started=time_text(started, at="/started"),
        )
        body = checked(sent, AttemptBody)
        return await self._post("runs", id_of(run), "attempts", answer=AttemptFacts, body=body)

    async def end_attempt(
        self,
        run: Named,
        number: int,
        status: str,
        *,
        finished: Time | None = None,
        producer: Producer | None = None,
    ) -> AttemptFacts:
        """Say how an attempt ended.

        Args:
            run: which.
            number: of the attempt.
            status: ``succeeded``, ``failed``, ``cancelled`` or ``lost``.
            finished: by default now.
            producer: whose attempt it is, where the run has several.
        """
        who = checked_producer(producer)
        sent = given(
            stream=who.stream,
            rank=who.rank,
            number=number,
            status=status,
            finished=time_text(finished, at="/finished"),
        )
        body = checked(sent, AttemptEnd)
        return await self._patch(
            "runs",
            id_of(run),
            "attempts",
            answer=AttemptFacts,
            body=body,
            content_type="application/json",  # it names which, and is no patch of all of them
        )

    async def attempts(self, run: Named) -> list[AttemptFacts]:
        """Return the attempts that were registered, by stream, rank and number."""
        return (await self._get("runs", id_of(run), "attempts", answer=AttemptList)).attempts

    async def writers(self, run: Named) -> dict[str, int]:
        """Return the highest sequence number that was taken of each writer."""
        found = await self._get("runs", id_of(run), "writers", answer=Writers)
        return {one.writer: one.seq for one in found.writers}

    async def budgets(self, run: Named) -> dict[Budget, BudgetUse]:
        """Return how much of each budget the run has used, and what was dropped."""
        return (await self._get("runs", id_of(run), "budgets", answer=RunBudgets)).budgets

    async def put_config(
        self, run: Named, content: Mapping[str, Any], *, producer: Producer | None = None
    ) -> None:
        """Keep what the run was told, in place of what was kept before.

        Args:
            run: which.
            content: at most 1 MiB of JSON.
            producer: whose it is, where the run has several.

        Raises:
            InvalidError: it is too much, or no JSON; nothing was sent.
        """
        await self._put_document(run, "config", content, producer=producer)

    async def put_environment(
        self, run: Named, content: Mapping[str, Any], *, producer: Producer | None = None
    ) -> None:
        """Keep what the run ran in; as `put_config`."""
        await self._put_document(run, "environment", content, producer=producer)

    async def config(self, run: Named, *, producer: Producer | None = None) -> dict[str, Any]:
        """Return what the run was told.

        Raises:
            NotFoundError: nothing was kept.
        """
        return await self._document(run, "config", producer)

    async def environment(self, run: Named, *, producer: Producer | None = None) -> dict[str, Any]:
        """Return what the run ran in.

        Raises:
            NotFoundError: nothing was kept.
        """
        return await self._document(run, "environment", producer)

    async def documents(self, run: Named) -> list[DocumentPlace]:
        """Return which documents the run has, by name, stream and rank: not what is in them."""
        return (await self._get("runs", id_of(run), "documents", answer=DocumentList)).documents

    async def _put_document(
        self, run: Named, name: str, content: Mapping[str, Any], *, producer: Producer | None
    ) -> None:
        who = checked_producer(producer)
        sent = {"content": plain(content), "stream": who.stream, "rank": who.rank}
        body = checked(sent, Document, bytes_max=DOCUMENT_BYTES_MAX + _FRAME_BYTES)
        await self._put("runs", id_of(run), name, answer=type(None), body=body)

    async def _document(self, run: Named, name: str, producer: Producer | None) -> dict[str, Any]:
        who = checked_producer(producer)
        query = query_of(stream=who.stream or None, rank=who.rank or None)
        found = await self._get("runs", id_of(run), name, answer=DocumentFacts, query=query)
        return msgspec.json.decode(found.content, type=dict[str, Any])
