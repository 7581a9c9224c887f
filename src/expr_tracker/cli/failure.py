"""From an error of the library to one line for people: the only place that does so.

``Error: ...`` on standard error, and exit code 2 for whatever the tracker refuses and for a path that
cannot be what was asked for (nothing there, a folder, too long); 1 for a file that the operating system would not read or write. A reader
that went away (``| head``) is no failure: the group ends quietly.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import logging
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from expr_tracker.cli.terminal import say, shown
from expr_tracker.errors import TrackerError
from expr_tracker.notices import logger, offer_beside

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["Failure", "check_command", "one_line_usage_errors", "reported"]


#: A line is for people, and no path of any use is as long.
_WORD_CHARACTERS_MAX: Final = 600


class Failure(click.ClickException):
    """A command cannot do what was asked; the message becomes one printable line."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(shown(" ".join(map(_cut, message.split()))))


def _cut(word: str) -> str:
    """Return a word of a message, of one that is longer than a path can be its ends."""
    if len(word) <= _WORD_CHARACTERS_MAX:
        return word
    half = _WORD_CHARACTERS_MAX // 2
    return f"{word[:half]}...{word[-half:]}"


class _SystemFailure(Failure):
    """What was asked makes sense, and the operating system could not do it."""

    exit_code = 1


#: Where a message of the library names a keyword: at its beginning, or as what was meant.
_BEFORE_KEYWORD: Final = r"(?:^|(?<=: )|(?<=pass )|(?<=mean ))"
#: The path of the question is wrong, not the disk.
_WRONG_PATHS: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG})


class _Warnings(logging.Handler):
    """Prints what the library warns of: it names paths and metrics, so it is shown as well."""

    def emit(self, record: logging.LogRecord) -> None:
        say(" ".join(self.format(record).split()), err=True)


@contextlib.contextmanager
def one_line_usage_errors(ctx: click.Context | None = None) -> Iterator[None]:
    """Turn what click finds wrong with the words of a command line into one line.

    Args:
        ctx: of the group whose command is called; click does not always say which it was.

    Raises:
        Failure: in place of click's usage lines; it names the command whose help shows how.
    """
    try:
        yield
    except click.UsageError as error:
        if error.ctx is not None:
            command = error.ctx.command_path
        elif ctx is not None:
            command = f"{ctx.command_path} {ctx.invoked_subcommand or ''}".rstrip()
        else:
            command = "et"
        raise Failure(f"{_message(error)} ({command} --help shows how)") from error


def _message(error: click.UsageError) -> str:
    if isinstance(error, click.NoSuchOption):
        known = _options(error.ctx)
        return f"No such option {error.option_name}{_nearest(error.option_name, known)}"
    text = error.format_message()
    return text if text.endswith((".", "?", "!", ")")) else f"{text}."


def _options(ctx: click.Context | None) -> list[str]:
    if ctx is None:
        return []
    options = (param for param in ctx.command.get_params(ctx) if isinstance(param, click.Option))
    return [name for option in options for name in (*option.opts, *option.secondary_opts)]


def check_command(ctx: click.Context, name: str, known: Collection[str]) -> None:
    """Refuse a command that a group does not have; options are left to click.

    Raises:
        UsageError: there is none of that name; the message offers the nearest.
    """
    if name not in known and name[:1] != "-" and not ctx.resilient_parsing:
        raise click.UsageError(f"No such command {name!r}{_nearest(name, known)}", ctx)


def _nearest(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f": did you mean {near[0]}?"
    return f": there are {', '.join(known)}."


def _as_spelled_here(message: str) -> str:
    """Return a message of the library with keywords of functions as the command's options.

    ``format='x': expected ...`` becomes ``--format 'x': expected ...``. Only where a message names what
    was asked, or what to pass: in the names of metrics and files such words stay.
    """
    ctx = click.get_current_context(silent=True)
    for name in _options(ctx):
        if name.startswith("--"):
            keyword = re.escape(name[2:].replace("-", "_"))
            message = re.sub(rf"{_BEFORE_KEYWORD}{keyword}=\.(?=\s|$)", f"{name}.", message)
            message = re.sub(rf"{_BEFORE_KEYWORD}{keyword}=", f"{name} ", message)
    return message


def _of_system(error: OSError) -> str:
    """Return what an error of the operating system says, and of what."""
    if isinstance(error, FileNotFoundError) and error.filename is None:
        # Of all that is looked for, the working directory alone is asked for without a name.
        return "the working directory was removed"
    where = f"{error.filename}: " if error.filename is not None else ""
    text = error.strerror or str(error)
    if error.errno == errno.ENAMETOOLONG:
        text = "the path, or a name in it, is too long for the system; pass a shorter one."
    elif isinstance(error, FileNotFoundError) and text == os.strerror(errno.ENOENT):
        text += f".{offer_beside(Path(os.fsdecode(error.filename)))}"
    return where + text


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Turn errors of the library and the system into one line; a decorator as well.

    Raises:
        Failure: in place of them.
    """
    warnings = _Warnings(logging.WARNING)
    logger.addHandler(warnings)
    try:
        yield
    except TrackerError as error:
        raise Failure(_as_spelled_here(str(error))) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        failure = Failure if error.errno in _WRONG_PATHS else _SystemFailure
        raise failure(_of_system(error)) from error
    finally:
        logger.removeHandler(warnings)
