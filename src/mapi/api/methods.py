"""Which methods an address has: what ``Allow`` lists, and where HEAD is answered as GET.

The framework makes one answer to OPTIONS for each group of routes that were written together, which
knows of no others at its address, and has no HEAD.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mapi.api.description import MEDIA_TYPES

if TYPE_CHECKING:
    from litestar import Litestar

__all__ = ["Methods"]

_PLACE: Final = re.compile(r"\\\{[a-z_]+:(str|path)\\\}")
_ENDLESS: Final = "text/event-stream"


class Methods:
    """The methods of every address of an application."""

    def __init__(self, app: Litestar) -> None:
        found: dict[str, set[str]] = {}
        for route in app.routes:
            for handler in getattr(route, "route_handlers", ()):
                methods = {str(one) for one in handler.http_methods}
                # A stream of events has no end that a HEAD could wait for, and begins none.
                if "GET" in methods and _ENDLESS not in handler.opt.get(MEDIA_TYPES, ()):
                    methods.add("HEAD")
                found.setdefault(route.path, set()).update(methods)
        self._plain = {path: sorted(one) for path, one in found.items() if "{" not in path}
        self._patterns = [
            (_pattern(path), sorted(one)) for path, one in found.items() if "{" in path
        ]

    def of(self, path: str) -> list[str]:
        """Return the methods of an address, in alphabetical order; none where there is nothing."""
        if path in self._plain:
            return self._plain[path]
        return next((one for pattern, one in self._patterns if pattern.fullmatch(path)), [])


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(
        _PLACE.sub(lambda found: ".+" if found[1] == "path" else "[^/]+", re.escape(path))
    )
