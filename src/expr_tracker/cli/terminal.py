"""Text from files on its way to a terminal: shown, never obeyed.

Names, values and messages come from other people's files. Whatever is not printable — control
characters, escape sequences, the marks that turn the direction of text — is shown as its escape.
Commands print through `say` and `say_json`, or ask `is_terminal` before they write raw data.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from typing import Final

import click

__all__ = [
    "OutputLostError",
    "drop_unwritten_output",
    "is_terminal",
    "open_closed_streams",
    "print_bytes",
    "say",
    "say_json",
    "shown",
    "shown_coloured",
]

#: "Select graphic rendition" (ECMA-48, 8.3.117): colours and weights, which move and erase nothing.
_COLOUR: Final = re.compile(r"(\x1b\[[0-9;:]{0,64}m)")


class OutputLostError(click.ClickException):
    """What was printed could not be written: the disk behind standard output is full, say."""

    exit_code = 1

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output: {error.strerror or error}")


def open_closed_streams() -> bool:
    """Put a device in place of standard streams that the program was started without (``>&-``).

    Else the next file that is opened would be one of them. What goes to standard error is then lost,
    as was wished; that standard output is none ends every command.

    Returns:
        Whether there is a standard output.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)  # noqa: FBT003 - the only argument of its kind
    os.close(descriptor)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
    return sys.stdout is not None


def drop_unwritten_output() -> None:
    """Send what standard output still holds nowhere, if it cannot be written any more.

    Python would try once more when it ends, and complain.
    """
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)


def print_bytes(content: bytes, *, newline: bool = True, err: bool = False) -> None:
    """Print bytes as they are.

    Raises:
        OutputLostError: they could not be written.
        BrokenPipeError: nobody reads them any more.
    """
    try:
        click.echo(content, nl=newline, err=err)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputLostError(error) from error


def shown(text: str) -> str:
    """Return ``text`` with an escape in place of every character that is not printable."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def shown_coloured(text: str) -> str:
    """Return what `shown` does, but for colours and tabs, which stay."""
    if text.isprintable():
        return text
    # Every other piece is a colour.
    pieces = _COLOUR.split(text)
    pieces[::2] = ["\t".join(map(shown, piece.split("\t"))) for piece in pieces[::2]]
    return "".join(pieces)


def say(text: str = "", *, err: bool = False) -> None:
    """Print one line, shown; in UTF-8 whatever encoding the terminal claims."""
    print_bytes(shown(text).encode(), err=err)


def say_json(document: bytes) -> None:
    """Print a JSON document; on a terminal, what is not printable becomes its JSON escape."""
    if is_terminal():
        lines = document.decode().split("\n")
        document = "\n".join(map(_json_escaped, lines)).encode()
    print_bytes(document)


def is_terminal() -> bool:
    """Say whether standard output is a terminal, which would obey what it is sent."""
    return sys.stdout.isatty()


def _json_escaped(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(
        character if character.isprintable() else _json_escape(character) for character in line
    )


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
