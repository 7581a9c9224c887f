"""SQL by name, from the files of ``sql/``: each begins with ``-- name: <name>``."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Final, LiteralString, cast

__all__ = ["query"]

_HEADER: Final = re.compile(r"^-- name: ([a-z][a-z0-9_]*)$", re.MULTILINE)


@cache
def query(name: str) -> LiteralString:
    """Return the statement ``<file>.<name>``, such as ``runs.insert``.

    Raises:
        KeyError: there is none.
    """
    file, _, own = name.partition(".")
    return _file(file)[own]


@cache
def _file(file: str) -> dict[str, LiteralString]:
    text = (resources.files("mapi.database") / "sql" / f"{file}.sql").read_text(encoding="utf-8")
    _, *parts = _HEADER.split(text)
    # Our own files: no user's text is in them.
    return {
        name: cast("LiteralString", statement.strip().removesuffix(";"))
        for name, statement in zip(parts[::2], parts[1::2], strict=True)
    }
