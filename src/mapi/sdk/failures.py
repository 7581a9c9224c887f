"""What a thread in the background survives, and tells once: nobody would see it end."""

from __future__ import annotations

import logging
from typing import Final

__all__ = ["Failures"]

_logger: Final = logging.getLogger("mapi.sdk")


class Failures:
    """Tells of errors that nobody has foreseen, of each once in a row, with where it came from.

    Args:
        what: the thread does, for the message.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._told = ""

    def tell(self, error: Exception) -> None:
        """Tell of an error, unless it is the one of the time before."""
        said = f"{type(error).__name__}: {error}"
        if said != self._told:
            self._told = said
            _logger.error("%s failed, and goes on: %s", self._what, said, exc_info=error)
