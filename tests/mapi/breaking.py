"""A line to the database that breaks at a question of the server's own choosing: our double of a crash."""

from __future__ import annotations

import asyncio
import contextlib
import enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from psycopg.conninfo import conninfo_to_dict, make_conninfo

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["BreakingLine", "Lost", "breaking_line"]

_CHUNK_BYTES: Final = 1 << 16
#: How a connection begins and ends is no question: its first packet, its password, its last message.
_NO_QUESTIONS: Final = frozenset(b"\0pX")


class Lost(enum.Enum):
    """What of a question is lost, with the line that it was asked by."""

    QUESTION = enum.auto()
    """The database never gets it."""
    ANSWER = enum.auto()
    """The database has done what was asked, and the server does not hear of it."""
    BOTH_ENDS = enum.auto()
    """The database gets it, while the server is gone: nobody waits for what it does."""


class BreakingLine:
    """Passes on what goes between a server and its database.

    Args:
        url: of the database, which listens on a Unix socket.
    """

    def __init__(self, url: str) -> None:
        self._way = conninfo_to_dict(url)
        self._server: asyncio.Server | None = None
        self._left: int | None = None
        self._lost = Lost.QUESTION
        self.has_broken = False
        """Since `break_at`."""

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        """Where a server finds the database by this line."""
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()
        return make_conninfo(
            **{**self._way, "host": host, "port": port},
            sslmode="disable",
            gssencmode="disable",
        )

    def break_at(self, question: int, lost: Lost) -> None:
        """Break at the question of this number from now on, beginning with 0."""
        self._left, self._lost, self.has_broken = question, lost, False

    def hold(self) -> None:
        """Break no more."""
        self._left = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = Path(str(self._way["host"])) / f".s.PGSQL.{self._way['port']}"
        answers, questions = await asyncio.open_unix_connection(path)
        back = asyncio.create_task(_pass_on(answers, writer))
        try:
            while chunk := await reader.read(_CHUNK_BYTES):
                if self._breaks(chunk):
                    await self._lose(chunk, back, answers, questions)
                    break
                questions.write(chunk)
                await questions.drain()
        finally:
            back.cancel()
            for end in (writer, questions):
                end.transport.abort()

    def _breaks(self, chunk: bytes) -> bool:
        if self._left is None or chunk[0] in _NO_QUESTIONS:
            return False
        self._left -= 1
        if self._left >= 0:
            return False
        self._left, self.has_broken = None, True
        return True

    async def _lose(
        self,
        chunk: bytes,
        back: asyncio.Task[None],
        answers: asyncio.StreamReader,
        questions: asyncio.StreamWriter,
    ) -> None:
        back.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await back
        if self._lost is Lost.QUESTION:
            return
        questions.write(chunk)
        await questions.drain()
        if self._lost is Lost.ANSWER:
            await answers.read(_CHUNK_BYTES)


async def _pass_on(answers: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await answers.read(_CHUNK_BYTES):
        writer.write(chunk)
        await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def breaking_line(url: str) -> AsyncIterator[BreakingLine]:
    """Give a line to the database of ``url``."""
    line = BreakingLine(url)
    await line.open()
    try:
        yield line
    finally:
        await line.close()
