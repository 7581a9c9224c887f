"""Runs as records: make, find, change, delete."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Unpack

from msgspec import UNSET, UnsetType

from mapi.sdk.arguments import INT64_MAX, mapping_of, query_of, truth_of, whole_of
from mapi.sdk.asynchronous.resource import AsyncResource
from mapi.sdk.calls import Repetition, encoded, id_of
from mapi.sdk.checks import (
    checked,
    checked_params,
    checked_tags,
    checked_text,
    given,
    refuse_bytes,
    time_text,
)
from mapi.sdk.filters import joined_texts, texts_of
from mapi.sdk.tables import FoundPage, FoundRun, pandas_frame, polars_frame
from mapi.wire.administration import Deleted
from mapi.wire.decoding import BODY_BYTES_MAX
from mapi.wire.runs import (
    LifeEntry,
    RunFacts,
    RunFields,
    RunLife,
    RunPatch,
    RunSearch,
    decode_run_create,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from mapi.sdk.calls import Named
    from mapi.sdk.checks import Time
    from mapi.sdk.filters import Listed, Search
    from mapi.sdk.tables import Asked

__all__ = ["AsyncRunRecords"]

#: `list` is a method here.
LifeList: TypeAlias = list[LifeEntry]
_logger: Final = logging.getLogger("mapi.sdk")
#: Of one request of an iteration; the server allows 500.
_PAGE_RUNS = 200


class AsyncRunRecords(AsyncResource):
    """Runs as records."""

    async def _create(  # noqa: PLR0913 - its parts, given by name
        self,
        *,
        name: str | None = None,
        note: str | None = None,
        params: Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
        experiment: Named | None = None,
        external_id: str | None = None,
        parent: Named | None = None,
        started: Time | None = None,
        spec: Mapping[str, Any] | None = None,
    ) -> RunFacts:
        checked_text(name=name, note=note)
        sent = given(
            project=self._project,
            name=name,
            note=note,
            params=None if params is None else checked_params(params),
            tags=None if tags is None else checked_tags(tags),
            experiment=None if experiment is None else id_of(experiment, what="experiment"),
            external_id=external_id,
            parent=None if parent is None else id_of(parent, what="parent"),
            started=time_text(started, at="/started"),
            spec=None if spec is None else mapping_of(spec, at="/spec"),
        )
        refuse_bytes(sent)
        body = encoded(sent)
        decode_run_create(body, bytes_max=BODY_BYTES_MAX)
        facts: RunFacts = await self._post("runs", answer=RunFacts, body=body, makes=True)
        told = [name for name in ("params", "tags") if name in sent and facts.dropped.get(name)]
        if told:
            # The run is made all the same, so nothing fails that would say so.
            counts = " and ".join(f"{facts.dropped[name]} {name}" for name in told)
            _logger.warning(
                "%s: its budget had no room for %s, which were not kept", facts.id, counts
            )
        return facts

    async def get(self, run: Named) -> RunFacts:
        """Return what is known of a run.

        Raises:
            NotFoundError: there is no such run for you.
        """
        return await self._get("runs", id_of(run), answer=RunFacts)

    async def life(self, run: Named) -> LifeList:
        """Return what happened to a run, oldest first: status, name, experiment, trash, warnings, prunings."""
        found: LifeList = []
        while True:
            query = query_of(after=found[-1].id if found else 0, limit=500)
            page = await self._get("runs", id_of(run), "life", answer=RunLife, query=query)
            found += page.entries
            if page.is_complete or not page.entries:
                return found

    async def page(  # noqa: PLR0913 - its parts, given by name
        self,
        *,
        filter: Search = None,  # noqa: A002 - the word of the interface
        sort: Listed = None,
        columns: Listed = None,
        view: Named | None = None,
        limit: int = 50,
        cursor: str | None = None,
        total: bool = False,
        trashed: bool = False,
    ) -> FoundPage:
        """Return one page of a search; `list` goes through all of them.

        Args:
            filter: a text of the search language, several that all hold, or what
                `mapi.filters` makes.
            sort: a field, with ``-`` before it for the largest first; up to 3.
            columns: fields whose values come with each run; up to 50.
            view: a saved view, whose filter holds too.
            limit: 1 to 500.
            cursor: ``next_cursor`` of the page before.
            total: count all that match.
            trashed: the runs in the trash, in place of the others.

        Raises:
            SchemaInvalidError: the search is wrong; the faults point at the place in the text.
        """
        sent = given(
            project=self._project,
            filter=texts_of(filter),
            sort=joined_texts(sort, at="/sort"),
            columns=joined_texts(columns, at="/columns"),
            view=None if view is None else id_of(view, what="view"),
            limit=limit,
            cursor=cursor,
        )
        if truth_of(trashed, at="/trashed"):
            query = query_of(**sent, total=total, trashed=True)
            return await self._get("runs", answer=FoundPage, query=query)
        # By body: a filter with a few lists is longer than what proxies take as an address.
        body = checked(sent | {"total": total}, RunSearch)
        return await self._post("runs", "search", answer=FoundPage, body=body)

    async def list(
        self,
        *,
        filter: Search = None,  # noqa: A002 - the word of the interface
        sort: Listed = None,
        columns: Listed = None,
        view: Named | None = None,
        limit: int | None = None,
        trashed: bool = False,
    ) -> AsyncIterator[FoundRun]:
        """Yield the runs that a search finds, page after page; `page` explains the parts.

        Args:
            filter: which runs; without it all.
            sort: in which order; by default the newest first.
            columns: what comes with each: ``run.named["params.lr"]``.
            view: a saved view, whose filter holds too.
            limit: at most so many.
            trashed: the runs in the trash, in place of the others.
        """
        cursor: str | None = None
        told: set[str] = set()
        left = None if limit is None else whole_of(limit, at="/limit", first=0, last=INT64_MAX)
        while left is None or left > 0:
            page = await self.page(
                filter=filter,
                sort=sort,
                columns=columns,
                view=view,
                limit=_PAGE_RUNS if left is None else min(_PAGE_RUNS, left),
                cursor=cursor,
                trashed=trashed,
            )
            for text in page.warnings:
                if text not in told:
                    _logger.warning("%s", text)
            told.update(page.warnings)
            for run in page.runs:
                yield run
            cursor = page.next_cursor
            if cursor is None:
                return
            if left is not None:
                left -= len(page.runs)

    async def to_pandas(self, **search: Unpack[Asked]) -> Any:
        """Return the runs that `list` would yield as a pandas data frame."""
        return pandas_frame([run async for run in self.list(**search)])

    async def to_polars(self, **search: Unpack[Asked]) -> Any:
        """Return the runs that `list` would yield as a polars data frame."""
        return polars_frame([run async for run in self.list(**search)])

    async def fields(self, prefix: str = "", *, limit: int = 100) -> RunFields:
        """Return the keys, labels, params and tags of the project that begin with a prefix."""
        query = query_of(project=self._project, prefix=prefix, limit=limit)
        return await self._get("runs", "fields", answer=RunFields, query=query)

    async def update(  # noqa: PLR0913 - its parts, given by name
        self,
        run: Named,
        *,
        name: str | UnsetType | None = UNSET,
        note: str | UnsetType | None = UNSET,
        experiment: Named | UnsetType | None = UNSET,
        status: str | UnsetType = UNSET,
        reason: str | UnsetType | None = UNSET,
        finished: Time | UnsetType = UNSET,
        if_match: str | None = None,
    ) -> RunFacts:
        """Change a run: what is not named stays, `None` empties.

        Args:
            run: which.
            name: what people call it.
            note: Markdown.
            experiment: where it belongs.
            status: how it ended, or ``running``; of runs that are logged from outside.
            reason: why it ended.
            finished: when it ended, where that is past.
            if_match: the ``etag`` that was read; if the run has another one by now, nothing changes.

        Raises:
            PreconditionFailedError: the run is not the version that was read.
        """
        checked_text(name=None if name is UNSET else name, note=None if note is UNSET else note)
        patch = {
            "name": name,
            "note": note,
            "experiment": _id_or(experiment, "experiment"),
            "status": status,
            "reason": reason,
            "finished": UNSET if finished is UNSET else time_text(finished, at="/finished"),
        }
        body = checked(_said(patch), RunPatch)
        return await self._patch("runs", id_of(run), answer=RunFacts, body=body, if_match=if_match)

    async def cancel(self, run: Named) -> RunFacts:
        """Stop a run that goes on or waits; one that was cancelled before stays as it is.

        A program that logs the run reads it from ``run.is_cancelled`` at its next sign of life.

        Raises:
            StateConflictError: the run has ended otherwise, or is in the trash.
        """
        return await self._post("runs", id_of(run), "cancel", answer=RunFacts)

    async def delete(self, run: Named, *, if_match: str | None = None) -> None:
        """Put a run into the trash; `restore` brings it back for a while."""
        await self._delete("runs", id_of(run), if_match=if_match)

    async def restore(self, run: Named) -> RunFacts:
        """Take a run out of the trash."""
        return await self._post("runs", id_of(run), "restore", answer=RunFacts)

    async def purge(self, run: Named) -> Deleted:
        """Delete a run of the trash for good, with all that it has; an admin may.

        Returns:
            How many rows that were, and about how many bytes.

        Raises:
            StateConflictError: the run is not in the trash.
        """
        return await self._post(
            "runs", id_of(run), "purge", answer=Deleted, repetition=Repetition.ONCE
        )


def _said(patch: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in patch.items() if value is not UNSET}


def _id_or(found: Any, what: str) -> Any:
    return found if found is UNSET or found is None else id_of(found, what=what)
