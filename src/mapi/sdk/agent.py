"""How the client names itself to a server, for the operator's log."""

from __future__ import annotations

import functools
import platform
from importlib import metadata

__all__ = ["agent"]


@functools.cache
def agent() -> str:
    """Return the name and the version of the client and of Python."""
    try:
        version = metadata.version("expr-tracker")
    except metadata.PackageNotFoundError:  # run from a source tree
        version = "0"
    return f"mapi-python/{version} Python/{platform.python_version()}"
