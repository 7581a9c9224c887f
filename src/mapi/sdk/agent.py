"""How the client names itself to a server, for the operator's log."""

from __future__ import annotations

import functools
import platform

__all__ = ["agent"]


@functools.cache
def agent() -> str:
    """Return the name and the version of the client and of Python."""
    from importlib import metadata  # noqa: PLC0415 - 30 ms, for the first request

    try:
        version = metadata.version("expr-tracker")
    except metadata.PackageNotFoundError:  # run from a source tree
        version = "0"
    return f"mapi-python/{version} Python/{platform.python_version()}"
