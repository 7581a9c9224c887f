"""From an error of the library to one line for people: the only place that does so.

``Error: ...`` on standard error and exit code 2, for whatever the tracker refuses and whatever the
operating system does. A reader that went away (``| head``) is no failure: click ends quietly.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from expr_tracker.errors import TrackerError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Failure", "reported"]


class Failure(click.ClickException):
    """A command cannot do what was asked."""

    exit_code = 2


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Turn errors of the library and the system into one line; a decorator as well.

    Raises:
        Failure: in place of them.
    """
    try:
        yield
    except TrackerError as error:
        raise Failure(_one_line(str(error))) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        raise Failure(_one_line(where + (error.strerror or str(error)))) from error


def _one_line(message: str) -> str:
    return " ".join(message.split())
