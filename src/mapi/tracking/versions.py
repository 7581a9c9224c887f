"""Versions of objects: whoever says which one was read is refused when there is a newer one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mapi.errors import PreconditionError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Expected"]


@dataclass(frozen=True, slots=True)
class Expected:
    """Which versions of an object a caller is content with (``If-Match``)."""

    etags: Sequence[str] | None = None
    """``None``: any."""

    def check(self, version: int, *, what: str) -> None:
        """Let through a version that is expected.

        Args:
            version: the object's.
            what: the object, as a noun: ``run``.

        Raises:
            PreconditionError: the object has another one.
        """
        found = f'"{version}"'
        if self.etags is not None and found not in self.etags and "*" not in self.etags:
            raise PreconditionError(
                f"The {what} has changed: its version is {found}, and If-Match asks for "
                f"{', '.join(self.etags)[:200]}. Read it again, and send the change with its ETag."
            )
