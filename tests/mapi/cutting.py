"""Doubles that end a job where a killed process would: in each transaction, and between any two steps.

A fuse lets so many steps pass and then burns through. What was committed or written by then stays, as it
does behind a process that is gone; all else is rolled back.
"""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mapi.database.door import Database
from mapi.objects.local import LocalStore
from mapi.objects.permits import UploadPermits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from mapi.database.door import Connection, Reach
    from mapi.objects.store import Content, Expectation, StoredObject

__all__ = ["CutDatabase", "CutStore", "Fuse", "KilledError"]


class KilledError(BaseException):
    """The process ends here: no error, which somebody could catch and go on."""


class Fuse:
    """Lets steps pass until it has burnt through.

    Args:
        steps: how many pass.
    """

    def __init__(self, steps: int) -> None:
        self._left = steps
        self.is_burnt = False

    def step(self) -> None:
        """Pass, or end here."""
        if self._left == 0:
            self.is_burnt = True
            raise KilledError
        self._left -= 1


class CutDatabase(Database):
    """A door whose every transaction has two steps: before it is committed, and behind that."""

    def __init__(self, url: str, fuse: Fuse) -> None:
        super().__init__(url, connections=2)
        self.fuse = fuse

    @asynccontextmanager
    async def transaction(self, reach: Reach) -> AsyncIterator[Connection]:
        """Begin a transaction, which is rolled back or is the last where the fuse burns through."""
        async with super().transaction(reach) as connection:
            yield connection
            self.fuse.step()
        self.fuse.step()

    @asynccontextmanager
    async def outside(self) -> AsyncIterator[Connection]:
        """Lend a connection, before and behind which the fuse may burn through."""
        self.fuse.step()
        async with super().outside() as connection:
            yield connection
        self.fuse.step()


class CutStore(LocalStore):
    """A store whose every write and deletion has two steps: before it, and behind it."""

    def __init__(self, directory: Path, fuse: Fuse) -> None:
        permits = UploadPermits(b"s" * 32, url="http://127.0.0.1/v1/uploads", clock=time.time)
        super().__init__(directory, permits=permits)
        self.fuse = fuse

    async def put(
        self, key: str, content: Content, *, expected: Expectation | None = None
    ) -> StoredObject:
        """Write an object."""
        self.fuse.step()
        found = await super().put(key, content, expected=expected)
        self.fuse.step()
        return found

    async def delete(self, key: str) -> bool:
        """Delete an object."""
        self.fuse.step()
        found = await super().delete(key)
        self.fuse.step()
        return found
