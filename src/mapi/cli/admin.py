"""`mapi admin`: tenants, tokens, members and limits, from a shell on the server's machine."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import click

from mapi.cli import desk_candidates
from mapi.cli.confirming import confirmed
from mapi.cli.desk import address_of, administer, project_option, tenant_option
from mapi.cli.grouping import CommandGroup
from mapi.cli.printing import format_option, print_rows
from mapi.cli.settings import home_option
from mapi.cli.upkeep import compact, retention, say_freed
from mapi.wire.enums import Budget, Role, Scope

if TYPE_CHECKING:
    from pathlib import Path

    from mapi.serve.administration import Administration
    from mapi.wire.administration import TokenPage

__all__ = ["command"]


@click.group("admin", cls=CommandGroup)
@home_option
@click.pass_context
def command(ctx: click.Context, *, home: Path | None) -> None:
    """Manage tenants, tokens, members and limits.

    The server may run meanwhile.
    """
    ctx.obj = home


@command.group("tenant")
def tenant() -> None:
    """Tenants: who share nothing."""


@tenant.command("create")
@click.argument("name")
@click.pass_obj
def tenant_create(home: Path | None, name: str) -> None:
    """Make a tenant with a project 'default'."""

    async def work(found: Administration) -> None:
        await found.make_tenant(name)
        click.echo(f"Made the tenant {name}.")

    administer(home, work)


@tenant.command("ls")
@format_option
@click.pass_obj
def tenant_list(home: Path | None, *, form: str) -> None:
    """List the tenants."""

    async def work(found: Administration) -> None:
        print_rows(["number", "name"], await found.tenants(), form=form)

    administer(home, work)


@tenant.command("delete")
@click.argument("name", shell_complete=desk_candidates.tenants)
@confirmed("This deletes all that the tenant has, for good.")
@click.pass_obj
def tenant_delete(home: Path | None, name: str) -> None:
    """Delete a tenant for good: projects, runs, media, tokens."""

    async def work(found: Administration) -> None:
        say_freed(await found.delete_tenant(name), verb="Deleted")

    administer(home, work)


@command.group("project")
def project_group() -> None:
    """Projects: what a tenant's runs stand in."""


@project_group.command("delete")
@click.argument("name", shell_complete=desk_candidates.projects)
@tenant_option
@confirmed("This deletes all runs of the project, for good.")
@click.pass_obj
def project_delete(home: Path | None, *, name: str, tenant: str) -> None:
    """Delete a project for good, with its runs, experiments and views."""

    async def work(found: Administration) -> None:
        say_freed(await found.delete_project(tenant, name), verb="Deleted")

    administer(home, work)


command.add_command(retention)
command.add_command(compact)


@command.group("token")
def token() -> None:
    """Tokens: what programs sign in with."""


@token.command("create")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    default=("runs:write",),
    show_default=True,
    type=click.Choice([scope.value for scope in Scope]),
    help="What it may do; can be given several times.",
)
@click.option(
    "--user", shell_complete=desk_candidates.users, help="Whose it is; without it, a service's."
)
@click.option("--days", type=click.IntRange(1, 3_650), help="How long it lives; without it, on.")
@project_option
@tenant_option
@click.pass_obj
def token_create(  # noqa: PLR0913 - the options, given by name
    home: Path | None,
    *,
    name: str,
    scopes: tuple[str, ...],
    user: str | None,
    days: int | None,
    project: str | None,
    tenant: str,
) -> None:
    """Make a token and print it, this once."""

    async def work(found: Administration) -> None:
        async with found.tenant(tenant) as desk:
            text = await desk.make_token(
                name,
                scopes=[Scope(scope) for scope in scopes],
                user=user,
                project=project,
                expires=None if days is None else datetime.now(UTC) + timedelta(days=days),
            )
        click.echo(text)

    administer(home, work)


_TOKEN: Final = (
    "id",
    "name",
    "scopes",
    "user",
    "project",
    "created",
    "expires",
    "last_used",
    "revoked",
)


@token.command("ls")
@format_option
@tenant_option
@click.pass_obj
def token_list(home: Path | None, *, form: str, tenant: str) -> None:
    """List the tokens of a tenant; no secret is shown.

    last_used is written once a minute.
    """

    async def work(found: Administration) -> None:
        from mapi.access.tokens import list_tokens

        async with found.tenant(tenant) as desk:
            page = await list_tokens(desk.connection, desk.principal)
        rows = [
            [
                _listed(getattr(one, name)) if form == "table" else getattr(one, name)
                for name in _TOKEN
            ]
            for one in page.tokens
        ]
        print_rows(_TOKEN, rows, form=form, wanted=["id", "name", "scopes", "revoked"])

    administer(home, work)


def _id_of(which: str, page: TokenPage) -> str:
    """Return the id of the token that is meant; what is the name of none is an id."""
    if any(one.id == which for one in page.tokens):
        return which
    alive = [one.id for one in page.tokens if one.name == which and one.revoked is None]
    if len(alive) > 1:
        raise click.ClickException(
            f"{len(alive)} tokens are called {which!r}; give the id of one: {', '.join(alive)}"
        )
    return alive[0] if alive else which


def _listed(value: Any) -> Any:
    """Return a list as the words of a cell."""
    return ", ".join(value) if isinstance(value, list) else value


@token.command("revoke")
@click.argument("which", metavar="TOKEN", shell_complete=desk_candidates.tokens)
@tenant_option
@click.pass_obj
def token_revoke(home: Path | None, *, which: str, tenant: str) -> None:
    """End a token and its sessions.

    TOKEN is the id that `mapi admin token ls` prints, or the name of one that no other has.
    """

    async def work(found: Administration) -> None:
        from mapi.access.tokens import list_tokens, revoke_token

        async with found.tenant(tenant) as desk:
            page = await list_tokens(desk.connection, desk.principal)
            token_id = _id_of(which, page)
            await revoke_token(desk.connection, desk.principal, token_id)
        click.echo(f"Revoked {token_id}{f' ({which})' if token_id != which else ''}.")

    administer(home, work)


@command.command("sign-in")
@click.option(
    "--user",
    shell_complete=desk_candidates.users,
    help="Who signs in; without it, an admin of the tenant.",
)
@click.option(
    "--url", help="Where the browser finds the server; by default MAPI_PUBLIC_URL, or this home's."
)
@tenant_option
@click.pass_obj
def sign_in(home: Path | None, *, user: str | None, url: str | None, tenant: str) -> None:
    """Print an address that signs a browser in.

    It works once, for 15 minutes.
    """
    address = address_of(home, url)

    async def work(found: Administration) -> None:
        async with found.tenant(tenant) as desk:
            code = await desk.make_sign_in_link(user)
        click.echo(f"{address}/sign-in?code={code}")

    administer(home, work)


@command.group("member")
def member() -> None:
    """Members: who has which role."""


@member.command("set")
@click.argument("user", shell_complete=desk_candidates.users)
@click.argument("role", type=click.Choice([role.value for role in Role]))
@project_option
@tenant_option
@click.pass_obj
def member_set(
    home: Path | None, *, user: str, role: str, project: str | None, tenant: str
) -> None:
    """Give a user a role; a new user is made."""

    async def work(found: Administration) -> None:
        from mapi.access.members import set_member
        from mapi.wire.administration import MemberBody

        async with found.tenant(tenant) as desk:
            sent = MemberBody(user=user, role=Role(role), project=project)
            await set_member(desk.connection, desk.principal, sent)
        click.echo(f"{user} is {role} in {project or 'every project'} of {tenant}.")

    administer(home, work)


@member.command("remove")
@click.argument("user", shell_complete=desk_candidates.users)
@project_option
@tenant_option
@click.pass_obj
def member_remove(home: Path | None, *, user: str, project: str | None, tenant: str) -> None:
    """Take a user's role away."""

    async def work(found: Administration) -> None:
        from mapi.access.members import remove_member

        async with found.tenant(tenant) as desk:
            await remove_member(desk.connection, desk.principal, user=user, project=project)
        place = (
            f"in {project} of {tenant}" if project else f"that holds in every project of {tenant}"
        )
        click.echo(f"{user} has no role {place} any more.")

    administer(home, work)


@member.command("ls")
@format_option
@tenant_option
@click.pass_obj
def member_list(home: Path | None, *, form: str, tenant: str) -> None:
    """List who has which role."""

    async def work(found: Administration) -> None:
        from mapi.access.members import list_members
        from mapi.access.projects import EVERY_PROJECT

        async with found.tenant(tenant) as desk:
            page = await list_members(desk.connection)
        rows = [[one.user, one.role, one.project or EVERY_PROJECT] for one in page.members]
        print_rows(["user", "role", "project"], rows, form=form)

    administer(home, work)


@command.group("limits")
def limits() -> None:
    """Limits: how much a run may keep."""


@limits.command("show")
@project_option
@tenant_option
@click.pass_obj
def limits_show(home: Path | None, *, project: str | None, tenant: str) -> None:
    """Print what holds for a run, as JSON."""

    async def work(found: Administration) -> None:
        async with found.tenant(tenant) as desk:
            click.echo(json.dumps(await desk.limits(project), indent=1))

    administer(home, work)


@limits.command("set")
@click.argument("changes", nargs=-1, required=True, metavar="BUDGET=LIMIT...")
@project_option
@tenant_option
@click.pass_obj
def limits_set(
    home: Path | None, *, changes: tuple[str, ...], project: str | None, tenant: str
) -> None:
    """Change limits.

    A limit is a number, 'unlimited', or 'default': the installation's, of a project the tenant's.
    """
    wanted = dict(_change(text) for text in changes)

    async def work(found: Administration) -> None:
        click.echo(json.dumps(await found.set_limits(tenant, project, wanted), indent=1))

    administer(home, work)


def _change(text: str) -> tuple[Budget, int | str | None]:
    name, _, value = text.partition("=")
    known = [budget.value for budget in Budget]
    if name not in known:
        raise click.UsageError(f"There is no budget {name!r}: there are {', '.join(known)}.")
    if value == "default":
        return Budget(name), None
    if value == "unlimited":
        return Budget(name), value
    if not (value.isascii() and value.isdigit() and len(value) <= 18):
        raise click.UsageError(
            f"{text!r}: expected a whole number, 'unlimited' or 'default' behind the '='."
        )
    return Budget(name), int(value)
