"""From an error of the library to one line for people: the only place that does so.

``Error: ...`` on standard error and exit code 2, for whatever the tracker refuses and whatever the
operating system does. A reader that went away (``| head``) is no failure: the group ends quietly.
"""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

import click

from expr_tracker.cli.terminal import say, shown
from expr_tracker.errors import TrackerError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Failure", "reported"]

_logger = logging.getLogger("expr_tracker")


class Failure(click.ClickException):
    """A command cannot do what was asked; the message becomes one printable line."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(shown(" ".join(message.split())))


class _Warnings(logging.Handler):
    """Prints what the library warns of: it names paths and metrics, so it is shown as well."""

    def emit(self, record: logging.LogRecord) -> None:
        say(" ".join(self.format(record).split()), err=True)


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Turn errors of the library and the system into one line; a decorator as well.

    Raises:
        Failure: in place of them.
    """
    warnings = _Warnings(logging.WARNING)
    _logger.addHandler(warnings)
    try:
        yield
    except TrackerError as error:
        raise Failure(str(error)) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        raise Failure(where + (error.strerror or str(error))) from error
    finally:
        _logger.removeHandler(warnings)
