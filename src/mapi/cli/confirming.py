"""Asking a person before something is gone for good; a script says so itself."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["confirmed"]


def confirmed(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds ``--yes``, without which a person is asked first.

    Args:
        what: a sentence that says what will be gone.
    """

    def ask(_context: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's call
        if value:
            return
        if not sys.stdin.isatty():
            raise click.UsageError(f"{what} Nobody is here to be asked: say so with --yes.")
        click.confirm(f"{what} Go on?", abort=True)

    return click.option(
        "--yes",
        is_flag=True,
        expose_value=False,
        callback=ask,
        help="Do not ask.",
    )
