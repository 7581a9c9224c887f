"""What the commands that ask a server share: the client, and errors that point at the words."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any, Final

import click

from mapi.cli import candidates
from mapi.errors import InvalidError, NameTakenError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mapi import Client
    from mapi.errors import Fault

__all__ = ["PointedError", "asks", "client", "items_option", "pairs_of", "pointing"]

#: Somebody waits, and can say it again: after half a second it is time to tell that nobody answers.
_TRIES: Final = 3
#: Of a UUID; its prefix may be left out.
_RUN_LENGTH_MIN: Final = 36
#: Where faults of what a file holds stand.
_CONTENTS: Final = ("/image", "/table", "/content", "/data")
#: Texts that are longer are shown around the place.
_SHOWN: Final = 70


class PointedError(click.ClickException):
    """Something on the command line is wrong, and this is where.

    Attributes:
        below: lines to be printed as they are.
    """

    exit_code = 2

    def __init__(self, message: str, below: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.below = tuple(below)


@contextlib.contextmanager
def client(project: str | None, *, timeout_seconds: float = 30.0) -> Iterator[Client]:
    """Give a client of the server that is meant.

    Raises:
        SettingError: nothing says which.
    """
    import mapi

    with mapi.Client(project=project, timeout_seconds=timeout_seconds, tries=_TRIES) as found:
        yield found


def asks(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a command one that asks the server: it gets ``api``, and the option ``--project``."""

    @click.option(
        "--project",
        shell_complete=candidates.projects,
        help="Where; by default MAPI_PROJECT, or that of `mapi login`.",
    )
    @functools.wraps(function)
    def command(*args: Any, project: str | None, **kwargs: Any) -> Any:
        with client(project) as api, pointing({}):
            try:
                return function(*args, api=api, **kwargs)
            except NameTakenError as error:
                # The server speaks of addresses; here it is an option, where the command has it.
                raise click.ClickException(
                    str(error).replace('say if_exists="get"', "say --if-exists get")
                    if "if_exists" in kwargs
                    else str(error)
                ) from None
            except NotFoundError:
                given = kwargs.get("runs") or (kwargs.get("run") or "",)
                for word in given:
                    if word and not word.startswith("run_") and len(word) < _RUN_LENGTH_MIN:
                        raise click.ClickException(_no_run(word)) from None
                raise

    return command


def _no_run(word: str) -> str:
    return (
        f"There is no run {word!r}: RUN is an id, run_… By its name it is found by "
        f"`mapi runs ls --filter 'name = \"{word}\"'`."
    )


@contextlib.contextmanager
def pointing(
    texts: Mapping[str, str | Sequence[str] | None], *, about: str | None = None
) -> Iterator[None]:
    """Turn a refusal into one that shows the words that it is about, with a caret below.

    Args:
        texts: what stood on the command line, by the name of the member that it was sent as.
        about: the file whose content was sent, if there is one.

    Raises:
        PointedError: something was refused.
    """
    try:
        yield
    except InvalidError as error:
        fault = error.faults[0] if error.faults else None
        if fault is None:
            raise PointedError(str(error)) from None
        text = _text_at(fault.pointer, texts)
        where = "" if text is not None else _place(fault)
        if about is not None and fault.pointer.startswith(_CONTENTS):
            where = f"{about}: "
        raise PointedError(f"{where}{fault.message}", _below(fault, text)) from None


def _place(fault: Fault) -> str:
    """Return the words of a pointer (RFC 6901) that the message itself does not have."""
    parts = [one.replace("~1", "/").replace("~0", "~") for one in fault.pointer.split("/")[1:]]
    told = [one for one in parts if repr(one) not in fault.message]
    if not told or fault.message.removeprefix("the ").startswith(f"{told[0]}"):
        return ""
    return f"{' '.join(told)}: "


def _text_at(pointer: str, texts: Mapping[str, str | Sequence[str] | None]) -> str | None:
    name, _, place = pointer.removeprefix("/query").lstrip("/").partition("/")
    found = texts.get(name)
    if found is None or isinstance(found, str):
        return found
    at = int(place) if place.isdigit() else 0
    return found[at] if at < len(found) else None


def _below(fault: Fault, text: str | None) -> list[str]:
    lines = []
    if text is not None and fault.offset is not None:
        start = max(0, fault.offset - _SHOWN // 2) if len(text) > _SHOWN else 0
        part = "".join(one if one.isprintable() else "?" for one in text[start : start + _SHOWN])
        width = max(1, min(fault.length or 1, _SHOWN))
        lines = [f"  {part}", "  " + " " * (fault.offset - start) + "^" * width]
    if fault.expected:
        shown = list(fault.expected)[:12]
        more = ", …" if len(fault.expected) > len(shown) else ""
        lines.append(f"Expected: {', '.join(shown)}{more}")
    return lines


def pairs_of(words: Sequence[str], *, what: str) -> dict[str, str]:
    """Return ``KEY=VALUE`` words as a mapping; what stands behind the first ``=`` is the value.

    Raises:
        PointedError: a word has none, or two have the same key.
    """
    found: dict[str, str] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign:
            raise PointedError(f"{word!r}: expected {what} as KEY=VALUE.")
        if key in found:
            raise PointedError(f"{word!r}: {key!r} is given twice; each has one value.")
        found[key] = value
    return found


def items_option(
    *names: str, what: str, shell_complete: Any = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add an option for ``KEY=VALUE`` that may be given several times."""
    return click.option(
        *names, multiple=True, metavar="KEY=VALUE", shell_complete=shell_complete, help=what
    )
