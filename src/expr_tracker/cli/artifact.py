"""``et artifact``: list, show, fetch and verify the artifacts of a project.

Every command takes WHERE, the folder of a project, of one of its runs, or of the artifacts
themselves; a path that is not there is also looked for below the root of all runs (``ET_DIR``, else
``runs``). Nothing here writes to the store.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from expr_tracker.cli import candidates
from expr_tracker.cli.failure import Failure, check_command, one_line_usage_errors, reported
from expr_tracker.cli.table import cell_text, echo_table, json_bytes, local_time
from expr_tracker.cli.terminal import say, say_json

if TYPE_CHECKING:
    from expr_tracker.artifacts import Artifact, ArtifactStore

__all__ = ["command"]

_TITLES: Final = ("artifact", "type", "files", "size", "created", "run", "step", "aliases")
#: Above every first sentence; click cuts it to the rest of a line otherwise.
_SENTENCE_CHARACTERS_MAX: Final = 1000


class _Group(click.Group):
    """A group whose help gives the first sentence of each command whole, wrapped and not cut."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        check_command(ctx, args[0], self.commands)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with one_line_usage_errors(ctx):
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, self.commands[name].get_short_help_str(_SENTENCE_CHARACTERS_MAX))
                    for name in sorted(self.commands)
                ]
            )


@click.group("artifact", cls=_Group, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """List, show, fetch and verify artifacts.

    WHERE is the folder of a project, of one of its runs, or of the artifacts themselves.

    \b
    et artifact list runs/llm
    et artifact show runs/llm model:best
    et artifact get runs/llm model:v0 -o model
    """  # noqa: D301 - click reads the control character
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


_where = click.argument("where", shell_complete=candidates.paths)
_format = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How it is printed.",
)


def _store(where: str) -> ArtifactStore:
    from expr_tracker.artifacts import find_store
    from expr_tracker.options import root_from_environment

    path = Path(where)
    below_root = Path(root_from_environment() or "runs") / path
    return find_store(below_root if not path.exists() and below_root.exists() else path)


@candidates.completer
def _names(ctx: click.Context, word: str) -> list[str]:
    where = ctx.params.get("where") or ctx.args[0]
    names = {artifact.name for artifact in _store(str(Path(where).expanduser())).list()}
    return sorted(name for name in names if name.startswith(word))


@command.command("list")
@_where
@click.argument("name", required=False, shell_complete=_names)
@click.option("--type", "kind", help="Only artifacts of this type.")
@_format
@reported()
def list_(where: str, *, name: str | None, kind: str | None, form: str) -> None:
    """List the versions in WHERE, or those of NAME alone.

    \b
    et artifact list runs/llm
    et artifact list runs/llm model --format json
    """  # noqa: D301 - click reads the control character
    store = _store(where)
    if name is not None:
        store.find(name)
        name = name.partition(":")[0]
    artifacts = store.list(name, kind)
    if form == "json":
        say_json(json_bytes([_outline(artifact) for artifact in artifacts]))
        return
    if not artifacts:
        say("No artifacts.")
        return
    echo_table(_TITLES, [_row(artifact) for artifact in artifacts], wanted=["artifact"])


def _outline(artifact: Artifact) -> dict[str, Any]:
    outline = artifact.to_dict()
    entries = outline.pop("entries")
    return outline | {"files": len(entries), "size": _size_bytes(artifact)}


def _row(artifact: Artifact) -> list[str]:
    return [
        cell_text(artifact.qualified_name),
        cell_text(artifact.type),
        str(len(artifact.entries)),
        _size(_size_bytes(artifact)),
        local_time(artifact.created_at),
        cell_text(artifact.run),
        cell_text(artifact.step),
        cell_text(",".join(artifact.aliases)),
    ]


@command.command("show")
@_where
@click.argument("artifact", shell_complete=_names)
@_format
@reported()
def show(where: str, artifact: str, form: str) -> None:
    """Show one version: ARTIFACT is NAME, NAME:v3 or NAME:ALIAS.

    \b
    et artifact show runs/llm model
    et artifact show runs/llm model:best --format json
    """  # noqa: D301 - click reads the control character
    found = _store(where).find(artifact)
    if form == "json":
        say_json(json_bytes(found.to_dict()))
        return
    lines = {
        "artifact": found.qualified_name,
        "type": found.type,
        "description": found.description or "-",
        "aliases": ", ".join(found.aliases) or "-",
        "created": local_time(found.created_at),
        "run": found.run or "-",
        "step": "-" if found.step is None else str(found.step),
        "digest": found.digest or "-",
        "folder": str(found.dir),
        "metadata": _one_line(found.metadata) if found.metadata else "-",
    }
    for label, text in lines.items():
        say(f"{label:<12}{text}")
    say(f"{'entries':<12}{len(found.entries)}, {_size(_size_bytes(found))}")
    for entry in found.entries:
        place = f"  -> {entry.ref}" if entry.ref is not None else ""
        size = "?" if entry.size is None else _size(entry.size)
        say(f"  {size:>10}  {entry.path}{place}")


@command.command("get")
@_where
@click.argument("artifact", shell_complete=_names)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False),
    help="The folder to copy to; NAME-VERSION here if it is left out.",
)
@reported()
def get(where: str, artifact: str, output: str | None) -> None:
    """Copy the files of one version to a folder, each checked against its digest.

    Files that are there already with the right content are kept, so a copy that was cut short can
    be repeated.

    \b
    et artifact get runs/llm model
    et artifact get runs/llm model:best -o best
    """  # noqa: D301 - click reads the control character
    found = _store(where).find(artifact)
    if output == "":
        raise Failure("-o '': expected the path of a folder; '.' is the working directory.")
    target = Path(found.qualified_name.replace(":", "-") if output is None else output)
    found.download(target)
    say(f"{found.qualified_name}: {len(found.entries)} files checked, in {target}")


@command.command("verify")
@_where
@click.argument("artifact", required=False, shell_complete=_names)
@click.pass_context
@reported()
def verify(context: click.Context, where: str, artifact: str | None) -> None:
    """Read every stored byte and compare it with what was logged.

    ARTIFACT is NAME for all its versions, NAME:v3 or NAME:ALIAS for one; left out, everything is
    read. Exit code 1 if a file is missing or changed.

    \b
    et artifact verify runs/llm
    et artifact verify runs/llm model:v0
    """  # noqa: D301 - click reads the control character
    result = _store(where).examine(artifact)
    for problem in result.problems:
        say(str(problem))
    if result.problems:
        say(f"{len(result.problems)} file(s) are not what was logged.", err=True)
        context.exit(1)
    unread = f"; {result.unread_count} reference(s) have no digest" if result.unread_count else ""
    say(
        f"{result.version_count} version(s), {result.file_count} file(s), "
        f"{_size(result.size_bytes)}: all as logged{unread}."
    )


def _size_bytes(artifact: Artifact) -> int:
    return sum(entry.size or 0 for entry in artifact.entries)


def _size(size_bytes: int) -> str:
    size = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def _one_line(metadata: dict[str, Any]) -> str:
    from expr_tracker.history import encode_line

    return encode_line(metadata).decode().rstrip()
