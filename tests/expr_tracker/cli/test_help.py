"""Help: every command has it, and it fits the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from expr_tracker.cli import _group

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Lines that are to be copied, which no wrapping may break.
COPIED = "fish   et completion fish >"


def paths(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None, name
            yield from paths(found, (*path, name))


@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize("path", list(paths(_group)), ids=" ".join)
def test_help_fits_the_terminal_and_no_sentence_is_cut(
    path: tuple[str, ...], columns: int
) -> None:
    result = CliRunner().invoke(_group, [*path, "--help"], terminal_width=columns)
    assert result.exit_code == 0
    usage, _, text = result.stdout.partition("\n\n")
    assert usage.startswith("Usage: ")
    assert "Show this message and exit." in " ".join(text.split())
    for line in text.splitlines():
        assert len(line) <= columns or COPIED in line, line
        assert not line.endswith("..."), line
