"""Searches under a name: ``api.views``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from mapi.sdk.arguments import query_of, version_of
from mapi.sdk.asynchronous.resource import AsyncResource
from mapi.sdk.calls import id_of
from mapi.sdk.checks import checked, checked_text, given
from mapi.sdk.filters import filter_of, joined_texts
from mapi.wire.experiments import ViewCreate, ViewFacts, ViewPage, ViewPatch

if TYPE_CHECKING:
    from mapi.sdk.calls import Named
    from mapi.sdk.filters import Filter, Listed

__all__ = ["AsyncViews", "ViewList"]

#: In a class with a method `list`, that word is the method.
ViewList: TypeAlias = list[ViewFacts]


class AsyncViews(AsyncResource):
    """Saved views: make, find, change."""

    async def create(
        self,
        name: str,
        *,
        filter: str | Filter = "",  # noqa: A002 - the word of the interface
        sort: Listed = None,
        columns: Listed = None,
        experiment: Named | None = None,
        if_exists: Literal["fail", "get"] = "fail",
    ) -> ViewFacts:
        """Save a search under a name; a project has at most 200.

        Args:
            name: unique in the project.
            filter: which runs.
            sort: in which order.
            columns: with which columns.
            experiment: whose view it is.
            if_exists: ``get`` returns the one of the same name as it is.

        Raises:
            SchemaInvalidError: the search is wrong; the faults point at the place in the text.
            NameTakenError: there is one of the same name.
            QuotaExceededError: the project has 200 views.
        """
        checked_text(name=name)
        sent = given(
            name=name,
            filter=filter_of(filter),
            sort=joined_texts(sort, at="/sort"),
            columns=joined_texts(columns, at="/columns"),
            experiment=None if experiment is None else id_of(experiment, what="experiment"),
            project=self._project,
        )
        body = checked(sent, ViewCreate)
        return await self._post(
            "saved-views",
            answer=ViewFacts,
            body=body,
            makes=True,
            query=query_of(if_exists=if_exists),
        )

    async def get(self, view: Named) -> ViewFacts:
        """Return one view."""
        return await self._get("saved-views", id_of(view, what="view"), answer=ViewFacts)

    async def list(self, *, experiment: Named | None = None) -> ViewList:
        """Return the views of the project, or of one of its experiments, by name."""
        query = query_of(
            project=self._project,
            experiment=None if experiment is None else id_of(experiment, what="experiment"),
        )
        return (await self._get("saved-views", answer=ViewPage, query=query)).views

    async def update(  # noqa: PLR0913 - its parts, given by name
        self,
        view: Named,
        *,
        name: str | UnsetType = UNSET,
        filter: str | Filter | UnsetType | None = UNSET,  # noqa: A002 - the word of the interface
        sort: Listed | UnsetType = UNSET,
        columns: Listed | UnsetType = UNSET,
        experiment: Named | UnsetType | None = UNSET,
        if_match: str | None = None,
    ) -> ViewFacts:
        """Change a view: what is not named stays, `None` empties.

        Args:
            view: which. What `get` or `list` returned says which version is meant.
            name: unique in the project.
            filter: which runs.
            sort: in which order.
            columns: with which columns.
            experiment: whose view it is.
            if_match: the ``etag`` that was read, where only an id is given; without it the newest.

        Raises:
            PreconditionFailedError: the view has changed since it was read.
        """
        is_text = filter is UNSET or filter is None
        patch: dict[str, Any] = {
            "name": name,
            "filter": filter if is_text else filter_of(filter),
            "sort": sort if sort is UNSET else joined_texts(sort, at="/sort"),
            "columns": columns if columns is UNSET else joined_texts(columns, at="/columns"),
            "experiment": experiment
            if experiment is UNSET or experiment is None
            else id_of(experiment, what="experiment"),
        }
        said = {key: value for key, value in patch.items() if value is not UNSET}
        body = checked(said, ViewPatch)
        version = await self._version(view, if_match)
        return await self._patch(
            "saved-views",
            id_of(view, what="view"),
            answer=ViewFacts,
            body=body,
            if_match=version,
        )

    async def delete(self, view: Named, *, if_match: str | None = None) -> None:
        """Delete a view; `update` explains ``if_match``."""
        version = await self._version(view, if_match)
        await self._delete("saved-views", id_of(view, what="view"), if_match=version)

    async def _version(self, view: Named, if_match: str | None) -> str:
        version = version_of(if_match)
        if version is not None:
            return version
        if isinstance(view, ViewFacts):
            return view.etag
        return (await self.get(view)).etag
