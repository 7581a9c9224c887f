"""Who may do what, and how much: ``api.tokens``, ``api.projects``, ``api.members``, ``api.limits``.

And ``api.audit``, which says who did what, and ``api.search``, the search language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from mapi.sdk.arguments import mapping_of, query_of, text_of, texts_of_list, truth_of
from mapi.sdk.asynchronous.resource import AsyncResource
from mapi.sdk.calls import id_of
from mapi.sdk.checks import checked, given, time_text
from mapi.sdk.filters import filter_of, joined_texts
from mapi.wire.administration import (
    AuditEntry,
    AuditPage,
    LimitsAnswer,
    LimitsBody,
    MemberBody,
    MemberFacts,
    MemberPage,
    ProjectCreate,
    ProjectFacts,
    ProjectPage,
    RetentionAnswer,
    TokenCreate,
    TokenFacts,
    TokenMade,
    TokenPage,
    UsageAnswer,
)
from mapi.wire.parsing import Completing, ParseBody, ParsedFilter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from mapi.sdk.calls import Named
    from mapi.sdk.checks import Time
    from mapi.sdk.filters import Filter, Listed

__all__ = [
    "AsyncAudit",
    "AsyncLimits",
    "AsyncMembers",
    "AsyncProjects",
    "AsyncSearch",
    "AsyncTokens",
    "MemberList",
    "ProjectList",
    "TokenList",
]

_PAGE_ENTRIES: Final = 500
#: In a class with a method `list`, that word is the method.
TokenList: TypeAlias = list[TokenFacts]
ProjectList: TypeAlias = list[ProjectFacts]
MemberList: TypeAlias = list[MemberFacts]


class AsyncTokens(AsyncResource):
    """Tokens: make, list, revoke."""

    async def create(
        self,
        name: str,
        scopes: Sequence[str],
        *,
        project: str | None = None,
        expires: Time | None = None,
        is_service: bool = False,
    ) -> TokenMade:
        """Make a token that does no more than you may; the answer alone holds its secret.

        Args:
            name: what it is for.
            scopes: ``runs:read``, ``runs:write``, ``admin``.
            project: the one that it is bound to; by default all that you see.
            expires: by default never.
            is_service: it belongs to nobody, and its scopes are its rights.
        """
        sent = given(
            name=name,
            scopes=texts_of_list(scopes, at="/scopes"),
            project=project,
            expires=time_text(expires, at="/expires"),
        )
        body = checked(sent | {"is_service": truth_of(is_service, at="/is_service")}, TokenCreate)
        return await self._post("tokens", answer=TokenMade, body=body, makes=True)

    async def list(self) -> TokenList:
        """Return your tokens, or all of the tenant's to its admin; never a secret."""
        return (await self._get("tokens", answer=TokenPage)).tokens

    async def revoke(self, token: Named) -> None:
        """End a token."""
        await self._delete("tokens", id_of(token, what="token"))


class AsyncProjects(AsyncResource):
    """Projects: make, list."""

    async def create(
        self, name: str, *, if_exists: Literal["fail", "get"] = "fail"
    ) -> ProjectFacts:
        """Make a project; an admin of the tenant may.

        Args:
            name: unique in the tenant.
            if_exists: ``get`` returns the one of the same name as it is.

        Raises:
            NameTakenError: there is one of the same name.
        """
        return await self._post(
            "projects",
            answer=ProjectFacts,
            body=checked({"name": name}, ProjectCreate),
            makes=True,
            query=query_of(if_exists=if_exists),
        )

    async def list(self) -> ProjectList:
        """Return the projects that you see, and what you are in each."""
        return (await self._get("projects", answer=ProjectPage)).projects


class AsyncMembers(AsyncResource):
    """Members: who has which role."""

    async def list(self) -> MemberList:
        """Return who has which role in the projects that you see."""
        return (await self._get("members", answer=MemberPage)).members

    async def set(self, user: str, role: str, *, project: str | None = None) -> MemberFacts:
        """Give a user a role; a new user is made.

        Args:
            user: the name.
            role: ``viewer``, ``runner`` or ``admin``.
            project: where; by default in every project of the tenant.
        """
        body = checked(given(user=user, role=role, project=project), MemberBody)
        return await self._put("members", answer=MemberFacts, body=body)

    async def remove(self, user: str, *, project: str | None = None) -> None:
        """Take a user's role away; the user's tokens can do nothing there from now on.

        Args:
            user: the name.
            project: where; by default the role that holds in every project.
        """
        await self._delete(
            "members", query=query_of(user=text_of(user, at="/user"), project=project)
        )


class AsyncLimits(AsyncResource):
    """Limits: what a run may keep, what is kept, and what goes for its age."""

    async def get(self, *, project: str | None = None) -> LimitsAnswer:
        """Return what holds for a run of a project, and for one request.

        Args:
            project: by default the client's, or the token's own.
        """
        query = query_of(project=self._project if project is None else project)
        return await self._get("limits", answer=LimitsAnswer, query=query)

    async def set(
        self,
        changes: Mapping[str, int | Literal["unlimited"] | None],
        *,
        project: str | None = None,
    ) -> LimitsAnswer:
        """Change limits of a project, up to those of the tenant; an admin may.

        Args:
            changes: by budget: ``{"points": 1_000_000}``; `None` goes back to what stands above.
            project: by default the client's.

        Raises:
            InvalidError: a word is no budget, or a limit none; nothing was sent.
        """
        sent = given(
            tracking=mapping_of(changes, at="/changes"),
            project=self._project if project is None else project,
        )
        return await self._put("limits", answer=LimitsAnswer, body=checked(sent, LimitsBody))

    async def usage(self) -> UsageAnswer:
        """Return rows and bytes by kind of each project that you see, and how it stands with budgets."""
        return await self._get("usage", answer=UsageAnswer)

    async def retention(self) -> RetentionAnswer:
        """Return how long what is kept, what each rule keeps, and what a pass would delete now.

        It deletes nothing. It tells of the projects that you are an admin of.
        """
        return await self._get("retention", answer=RetentionAnswer)


class AsyncAudit(AsyncResource):
    """The audit: who changed what."""

    async def page(self, *, limit: int = 50, cursor: str | None = None) -> AuditPage:
        """Return one page of the audit, the newest first; `list` goes through all of them."""
        return await self._get(
            "audit", answer=AuditPage, query=query_of(limit=limit, cursor=cursor)
        )

    async def list(self) -> AsyncIterator[AuditEntry]:
        """Yield who changed rights, tokens, members, limits and the log, the newest first."""
        cursor: str | None = None
        while True:
            page = await self.page(limit=_PAGE_ENTRIES, cursor=cursor)
            for one in page.entries:
                yield one
            cursor = page.next_cursor
            if cursor is None:
                return


class AsyncSearch(AsyncResource):
    """The search language."""

    async def parse(
        self,
        filter: str | Filter = "",  # noqa: A002 - the word of the interface
        *,
        sort: Listed = None,
        columns: Listed = None,
        caret: int | None = None,
        completing: Completing = "filter",
        limit: int = 50,
    ) -> ParsedFilter:
        """Return how the server reads a search, and how it could go on.

        Args:
            filter: a filter.
            sort: fields to sort by.
            columns: fields to show.
            caret: where somebody types, in code points: the answer's ``completion`` says what could
                stand there, and what is wrong stands in its ``faults``.
            completing: the text that the caret is in.
            limit: candidates at most, 1 to 500.

        Raises:
            SchemaInvalidError: it is wrong, and there is no caret; the faults point at the place in
                the text.
        """
        sent = given(
            filter=filter_of(filter),
            sort=joined_texts(sort, at="/sort"),
            columns=joined_texts(columns, at="/columns"),
            caret=caret,
            completing=completing,
            project=self._project,
            limit=limit,
        )
        body = checked(sent, ParseBody)
        return await self._post("search", "parse", answer=ParsedFilter, body=body)
