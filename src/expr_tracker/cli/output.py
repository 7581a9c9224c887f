"""Where a command writes the file that it makes: a path, or ``-`` for standard output."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from expr_tracker.cli.failure import Failure
from expr_tracker.cli.terminal import OutputLostError, is_terminal
from expr_tracker.errors import TrackerError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Output", "output_of"]

#: What the library calls the descriptor, in errors too.
_STANDARD_OUTPUT: Final = "/dev/fd/1"
#: Its names on a command line.
_NAMES: Final = frozenset({"-", "/dev/stdout", "/proc/self/fd/1", _STANDARD_OUTPUT})


class Output:
    """The output that a command line names.

    Attributes:
        path: what the library is told to write, as it was typed: of ``''`` it has a word to say.
        is_standard: whether that is standard output: what the command says then goes to standard error.
    """

    def __init__(self, text: str) -> None:
        self.is_standard = text in _NAMES
        self.path = _STANDARD_OUTPUT if self.is_standard else text


@contextlib.contextmanager
def output_of(text: str) -> Iterator[Output]:
    """Give the output that ``text`` names, to be written within.

    Raises:
        Failure: it is a terminal, which would obey what the files of others hold.
        OutputLostError: standard output could not be written.
    """
    output = Output(text)
    if output.is_standard and is_terminal():
        raise Failure(f"-o {text}: standard output is a terminal; send it on (> FILE, | PROGRAM).")
    try:
        yield output
    except (TrackerError, BrokenPipeError):
        raise
    except OSError as error:
        if output.is_standard and error.filename in {None, _STANDARD_OUTPUT}:
            raise OutputLostError(error) from error
        raise
