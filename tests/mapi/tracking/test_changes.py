"""A replica that cannot hear goes on trying, and does not fill the log with it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest

from mapi.tracking.changes import Changes

if TYPE_CHECKING:
    from mapi.database.door import Database

pytestmark = pytest.mark.anyio


class Hearing(logging.Handler):
    """Keeps lines, and tells when there are enough."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.enough = asyncio.Event()
        self._count = count

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        if len(self.lines) >= self._count:
            self.enough.set()


async def test_attempts_to_listen_grow_rarer(database: Database) -> None:
    hearing = Hearing(3)
    logger = logging.getLogger("mapi.live")
    logger.addHandler(hearing)
    changes = Changes(database, "postgresql://nobody@127.0.0.1:1/none")
    try:
        await changes.open()
        await asyncio.wait_for(hearing.enough.wait(), 20)
    finally:
        await changes.close()
        logger.removeHandler(hearing)
    pauses = [line.partition(" s: ")[0].rpartition(" ")[2] for line in hearing.lines[:3]]
    assert pauses == ["1", "2", "4"]
