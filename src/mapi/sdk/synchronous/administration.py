# Made of mapi.sdk.asynchronous by `python .ci/tooling/synchronous.py`; not edited by hand.
# ruff: noqa: C416, UP028, RUF100 - without tasks some things could be said more briefly
"""Tokens, projects and the search language: ``api.tokens``, ``api.projects``, ``api.search``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from mapi.sdk.calls import id_of
from mapi.sdk.checks import checked, given, time_text
from mapi.sdk.filters import joined_texts
from mapi.sdk.synchronous.resource import Resource
from mapi.wire.administration import (
    ProjectCreate,
    ProjectFacts,
    ProjectPage,
    TokenCreate,
    TokenFacts,
    TokenMade,
    TokenPage,
)
from mapi.wire.runs import ParseBody, ParsedFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mapi.sdk.calls import Named
    from mapi.sdk.checks import Time
    from mapi.sdk.filters import Filter, Listed

__all__ = ["ProjectList", "Projects", "Search", "TokenList", "Tokens"]

#: In a class with a method `list`, that word is the method.
TokenList: TypeAlias = list[TokenFacts]
ProjectList: TypeAlias = list[ProjectFacts]


class Tokens(Resource):
    """Tokens: make, list, revoke."""

    def create(
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
            scopes=list(scopes),
            project=project,
            expires=time_text(expires, at="/expires"),
        )
        body = checked(sent | {"is_service": is_service}, TokenCreate)
        return self._post("tokens", answer=TokenMade, body=body, makes=True)

    def list(self) -> TokenList:
        """Return your tokens, or all of the tenant's to its admin; never a secret."""
        return (self._get("tokens", answer=TokenPage)).tokens

    def revoke(self, token: Named) -> None:
        """End a token."""
        self._delete("tokens", id_of(token, what="token"))


class Projects(Resource):
    """Projects: make, list."""

    def create(self, name: str) -> ProjectFacts:
        """Make a project; an admin of the tenant may."""
        body = checked({"name": name}, ProjectCreate)
        return self._post("projects", answer=ProjectFacts, body=body, makes=True)

    def list(self) -> ProjectList:
        """Return the projects that you see, and what you are in each."""
        return (self._get("projects", answer=ProjectPage)).projects


class Search(Resource):
    """The search language."""

    def parse(
        self,
        filter: str | Filter = "",  # noqa: A002 - the word of the interface
        *,
        sort: Listed = None,
        columns: Listed = None,
    ) -> ParsedFilter:
        """Return how the server reads a search.

        Raises:
            SchemaInvalidError: it is wrong; the faults point at the place in the text.
        """
        sent = given(filter=str(filter), sort=joined_texts(sort), columns=joined_texts(columns))
        body = checked(sent, ParseBody)
        return self._post("search", "parse", answer=ParsedFilter, body=body)
