"""`mapi admin retention` and `mapi admin compact`: what goes, what is kept, and how small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from mapi.cli import candidates, desk_candidates
from mapi.cli.desk import administer, tenant_option
from mapi.cli.grouping import CommandGroup
from mapi.cli.printing import format_option, print_rows
from mapi.cli.retention import FREED
from mapi.cli.settings import settings_of
from mapi.cli.transfers import counting

if TYPE_CHECKING:
    from pathlib import Path

    from mapi.serve.administration import Administration
    from mapi.tracking.freed import Freed

__all__ = ["compact", "retention", "say_freed"]

_RULE: Final = ("number", "project", "filter", "best", "by")


@click.group("retention", cls=CommandGroup, invoke_without_command=True)
@click.option("--dry-run", is_flag=True, help="Tell what would be deleted, and delete nothing.")
@format_option
@click.pass_context
def retention(ctx: click.Context, *, dry_run: bool, form: str) -> None:
    """Delete what is over: trash, and by the settings more.

    The retention settings say when points, log lines and media are old.

    The server does so once an hour. MAPI_TRASH_DAYS, MAPI_TRACKING_RETENTION_DAYS and
    MAPI_MEDIA_RETENTION_DAYS say what is over; rules keep runs whatever their age. With --dry-run it
    prints rows and bytes by project.
    """
    if ctx.invoked_subcommand is not None:
        return
    from mapi.serve.housekeeping import retention_of

    home: Path | None = ctx.obj
    rules = retention_of(settings_of(home))

    async def work(found: Administration) -> None:
        if dry_run:
            rows = [
                (tenant, project, *(getattr(freed, name) for name in FREED))
                for tenant, project, freed in await found.foresee(rules)
            ]
            columns = ("tenant", "project", *FREED)
            print_rows(columns, rows, form=form, wanted=["project", "rows", "size_bytes"])
            return
        failures = _Failures()
        with counting("Deleting") as told:
            freed = await found.retain(rules, told=told, failed=failures.add)
        say_freed(freed, verb="Deleted")
        failures.end()

    administer(home, work)


@retention.command("set")
@click.option(
    "--project", required=True, shell_complete=desk_candidates.projects, help="Whose runs."
)
@click.option("--filter", "filters", default="", help="Keep runs that match.")
@click.option("--best", type=int, help="Keep so many, the first by --by.")
@click.option(
    "--by",
    default="",
    shell_complete=candidates.orders,
    help="In which order they are the best.",
)
@tenant_option
@click.pass_obj
def retention_set(
    home: Path | None, *, project: str, filters: str, best: int | None, by: str, tenant: str
) -> None:
    """Keep runs whatever their age.

    --by takes an order as `mapi runs ls --sort` does: the smallest are the best, with a minus before the field the largest.

    \b
    mapi admin retention set --project default --best 10 --by metrics.loss.min
    mapi admin retention set --project default --best 10 --by -metrics.acc.max
    mapi admin retention set --project default --filter "tags.stage = prod"
    """  # noqa: D301 - click reads the control character

    async def work(found: Administration) -> None:
        number = await found.add_rule(tenant, project, filters=filters, sort=by, best=best)
        click.echo(f"Rule {number} keeps runs of {project}.")

    administer(home, work)


@retention.command("ls")
@format_option
@tenant_option
@click.pass_obj
def retention_list(home: Path | None, *, form: str, tenant: str) -> None:
    """List the rules that keep runs."""

    async def work(found: Administration) -> None:
        rows = [
            (rule.number, rule.project, rule.filter, rule.best, rule.sort)
            for rule in await found.rules(tenant)
        ]
        print_rows(_RULE, rows, form=form, wanted=["number", "filter", "by"])

    administer(home, work)


@retention.command("remove")
@click.argument("number", type=int, shell_complete=desk_candidates.rules)
@tenant_option
@click.pass_obj
def retention_remove(home: Path | None, *, number: int, tenant: str) -> None:
    """Remove a rule.

    What only it kept is old like any other run from then on.
    """

    async def work(found: Administration) -> None:
        rule = await found.remove_rule(tenant, number)
        click.echo(f"Removed rule {number} of {rule.project}.")

    administer(home, work)


@click.command("compact")
@click.option(
    "--hours",
    type=click.IntRange(0, 876_000),
    help="Runs that ended longer ago; by default MAPI_COMPACTION_HOURS.",
)
@click.pass_obj
def compact(home: Path | None, *, hours: int | None) -> None:
    """Compact the points of runs that are over.

    They take a fifth of the space, and every answer stays the same.

    The server does so once an hour.
    """
    wanted = settings_of(home).compaction_hours if hours is None else hours

    async def work(found: Administration) -> None:
        failures = _Failures()
        with counting("Compacting") as told:
            points = await found.compact(wanted, told=told, failed=failures.add)
        click.echo(f"Compacted {points:,} points.")
        failures.end()

    administer(home, work)


class _Failures:
    """The tenants in which a job failed, told once the others are done."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}

    def add(self, tenant: str, error: Exception) -> None:
        """Take what went wrong in a tenant; its first line, as databases add where they stood."""
        self._reasons[tenant] = (str(error) or type(error).__name__).splitlines()[0]

    def end(self) -> None:
        """Say which tenants failed and why, and end with 1 if any has.

        Raises:
            ClickException: one has.
        """
        if not self._reasons:
            return
        told = "; ".join(f"{tenant}: {why}" for tenant, why in self._reasons.items())
        raise click.ClickException(f"Failed in these tenants; the others are done: {told}")


def say_freed(freed: Freed, *, verb: str) -> None:
    """Print what was deleted."""
    click.echo(
        f"{verb} {freed.purged_runs} runs; pruned {freed.pruned_runs} old ones: {freed.points} "
        f"points, {freed.spans} spans, {freed.log_lines} log lines, {freed.media_items} media "
        f"items; about {freed.size_bytes:,} bytes."
    )
