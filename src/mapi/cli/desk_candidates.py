"""What a half-typed word of `mapi admin` may become, by the database of the home: tenants, tokens, users.

A database that does not run is not started for it, and one that is slow gives no answer.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from click.shell_completion import CompletionItem

from mapi.cli.settings import settings_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    import click

    from mapi.serve.administration import Administration

    _Found = Iterable[tuple[str, str]]
    _Candidates = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

__all__ = ["projects", "rules", "tenants", "tokens", "users"]

#: How long a prompt waits.
_SECONDS: Final = 3.0


def _completer(find: Callable[[Administration, str], Awaitable[_Found]]) -> _Candidates:
    def complete(ctx: click.Context, param: click.Parameter, word: str) -> list[CompletionItem]:
        del param
        import asyncio
        import threading

        found: list[CompletionItem] = []

        def look() -> None:
            with contextlib.suppress(Exception):  # a prompt is no place for errors
                found.extend(
                    CompletionItem(text, help=said)
                    for text, said in asyncio.run(_ask(find, ctx))
                    if text.startswith(word)
                )

        # Left behind where the database does not answer: what connects to it cannot be cut short.
        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        looking.join(_SECONDS)
        return [] if looking.is_alive() else found

    return complete


async def _ask(
    find: Callable[[Administration, str], Awaitable[_Found]], ctx: click.Context
) -> _Found:
    from mapi.serve.administration import administration

    async with administration(settings_of(_home_of(ctx)), is_started=False) as reached:
        return await find(reached, ctx.params.get("tenant") or "local")


def _home_of(ctx: click.Context) -> Any:
    """Return what ``--home`` says: it stands before the words of the command."""
    at: click.Context | None = ctx
    while at is not None:
        if at.params.get("home") is not None:
            return at.params["home"]
        at = at.parent
    return None


async def _tenants(found: Administration, tenant: str) -> _Found:
    del tenant
    return [(name, "") for _, name in await found.tenants()]


async def _projects(found: Administration, tenant: str) -> _Found:
    from mapi.access.projects import project_names

    async with found.tenant(tenant) as desk:
        return [(name, "") for name in (await project_names(desk.connection)).values()]


async def _tokens(found: Administration, tenant: str) -> _Found:
    from mapi.access.tokens import list_tokens

    async with found.tenant(tenant) as desk:
        page = await list_tokens(desk.connection, desk.principal)
    return [(one.id, one.name) for one in page.tokens if one.revoked is None]


async def _users(found: Administration, tenant: str) -> _Found:
    from mapi.access.members import list_members

    async with found.tenant(tenant) as desk:
        page = await list_members(desk.connection)
    return dict.fromkeys((one.user, "") for one in page.members)


async def _rules(found: Administration, tenant: str) -> _Found:
    return [
        (str(one.number), f"{one.project} {one.filter} {one.sort}".strip())
        for one in await found.rules(tenant)
    ]


tenants = _completer(_tenants)
projects = _completer(_projects)
tokens = _completer(_tokens)
users = _completer(_users)
rules = _completer(_rules)
