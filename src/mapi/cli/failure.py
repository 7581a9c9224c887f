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
    except MapiError as error:
        _end(str(error), _FAILED)
    except BrokenPipeError:
        # The reader (`| head`) has seen what it wanted; what is left unwritten is not wanted.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        _end(where + (error.strerror or str(error)), _FAILED)


def _end(message: str, code: int, *, below: Sequence[str] = ()) -> NoReturn:
    line = "".join(one if one.isprintable() else "?" for one in " ".join(message.split()))
    print("\n".join([f"Error: {line}", *below]), file=sys.stderr)
    raise SystemExit(code) from None
