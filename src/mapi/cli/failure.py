"""From an error to one line for people and an exit code: 1 it failed, 2 it was called wrongly."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Final, NoReturn

import click

from mapi.cli.asking import PointedError
from mapi.errors import MapiError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["one_line_errors"]

_FAILED: Final = 1
_MISUSED: Final = 2
#: Lines below an error.
_DETAILS_MAX: Final = 10
#: What shells say of a program that SIGINT ended.
_INTERRUPTED: Final = 130


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """End the program as its error asks.

    Raises:
        SystemExit: in place of any error that is meant for people.
    """
    try:
        yield
    except click.exceptions.Exit as ended:
        raise SystemExit(ended.exit_code) from None
    except click.exceptions.NoArgsIsHelpError as error:
        # Whoever says nothing wants to know what there is to say.
        print(error.format_message())
        raise SystemExit(0) from None
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "mapi"
        _end(f"{error.format_message()} ({command} --help shows how)", _MISUSED)
    except PointedError as error:
        _end(error.format_message(), _MISUSED, below=error.below)
    except click.ClickException as error:
        _end(error.format_message(), _FAILED)
    except (click.Abort, KeyboardInterrupt):
        raise SystemExit(_INTERRUPTED) from None
    except (MapiError, ImportError) as error:
        _end(_said(error), _FAILED, below=_details(error))
    except BrokenPipeError:
        # The reader (`| head`) has seen what it wanted; what is left unwritten is not wanted.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        _end(where + (error.strerror or str(error)), _FAILED)


def _said(error: Exception) -> str:
    """Return what an error says, or what to install where an extra is missing."""
    name = error.name or "" if isinstance(error, ModuleNotFoundError) else ""
    name = name.partition(".")[0]
    if name in {"", "mapi", "expr_tracker"}:
        return str(error)
    from expr_tracker.extras import install_command

    return f"This command needs {name}: {install_command('platform')}"


def _details(error: Exception) -> list[str]:
    """Return what is wrong with each part, where the error's own words do not say it."""
    faults = getattr(error, "faults", ())
    lines = [one.message for one in faults if one.message not in str(error)]
    return [f"  {_printable(line)}" for line in lines[:_DETAILS_MAX]]


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in " ".join(text.split()))


def _end(message: str, code: int, *, below: Sequence[str] = ()) -> NoReturn:
    print("\n".join([f"Error: {_printable(message)}", *below]), file=sys.stderr)
    raise SystemExit(code) from None
