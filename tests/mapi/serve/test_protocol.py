"""Connections end that do not go on: a request that stalls, an answer that nobody reads."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from mapi.serve.protocol import BoundedProtocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.anyio

_ANSWER = b"HTTP/1.1 200 OK"
#: Bytes that wait in part where little is taken; pieces of 64 KiB that never wait as a whole.
_SHORT, _LONG = 60_000, 1_000


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """The loop of Python, and the one that `mapi serve` runs on."""
    return "asyncio", {"use_uvloop": request.param}


class Hasty(BoundedProtocol):
    """What waits a second where the server waits long."""

    head_seconds = body_seconds = answer_seconds = 1.0


class Application:
    """Answers with the size of the body, or with more than any buffer takes."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        size, is_whole = 0, False
        while not is_whole:
            message = await receive()
            self.told.append(message["type"])
            if message["type"] == "http.disconnect":
                return
            size += len(message["body"])
            is_whole = not message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/short":
            await send({"type": "http.response.body", "body": bytes(_SHORT)})
            return
        if scope["path"] == "/long":
            for _ in range(_LONG):
                await send(
                    {"type": "http.response.body", "body": bytes(1 << 16), "more_body": True}
                )
        await send({"type": "http.response.body", "body": b"%d" % size})


@contextlib.asynccontextmanager
async def serving(
    application: Application, *, send_buffer: int | None = None
) -> AsyncIterator[tuple[uvicorn.Server, int]]:
    listening = socket.create_server(("127.0.0.1", 0))
    if send_buffer is not None:  # of each connection that it accepts
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
    config = uvicorn.Config(application, http=Hasty, log_config=None, ws="none", lifespan="off")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        while not server.started:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.01)
        yield server, listening.getsockname()[1]
    finally:
        server.should_exit = True
        await task
        listening.close()


@pytest.mark.parametrize(
    ("sent", "is_told"),
    [
        pytest.param(b"", False, id="nothing"),
        pytest.param(b"POST / HTTP/1.1\r\nHost: x\r\n", True, id="half a head"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf", True, id="half a body"
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
            True,
            id="a chunk",
        ),
    ],
)
async def test_a_request_that_stands_still_ends_its_connection(sent: bytes, is_told: bool) -> None:
    application = Application()
    async with serving(application) as (server, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        async with asyncio.timeout(10):
            answer = await reader.read()
            assert answer.startswith(b"HTTP/1.1 408 ") == is_told
            assert bool(answer) == is_told
            while server.server_state.connections:  # noqa: ASYNC110 - it has no event for it
                await asyncio.sleep(0.01)
        writer.close()
    # Whoever waits for the rest is told.
    assert application.told[-1:] in ([], ["http.disconnect"])


async def test_a_body_is_waited_for_since_its_last_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not twice as long where its beginning came with the headers."""
    monkeypatch.setattr(Hasty, "body_seconds", 3.0)
    async with serving(Application()) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        began = time.monotonic()
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf")
        async with asyncio.timeout(10):
            assert (await reader.read()).startswith(b"HTTP/1.1 408 ")
        assert 2.9 < time.monotonic() - began < 5.5
        writer.close()


async def test_a_body_that_goes_on_slowly_is_read_to_its_end() -> None:
    async with serving(Application()) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n")
        for _ in range(12):  # longer than it may stand still
            await asyncio.sleep(0.15)
            writer.write(b"x")
        async with asyncio.timeout(10):
            assert (await reader.readline()).strip() == _ANSWER
        writer.close()


async def test_a_connection_serves_one_request_after_another() -> None:
    async with serving(Application()) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody" * 2)
            async with asyncio.timeout(10):
                for _ in range(2):
                    found = await reader.readuntil(b"0\r\n\r\n")
                    assert found.startswith(_ANSWER)
                    assert b"\r\n4\r\n" in found
            await asyncio.sleep(1.2)  # between requests it may be silent for longer
        writer.close()


async def test_an_answer_that_nobody_reads_ends_its_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "mapi.serve")
    async with serving(Application()) as (server, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1_024)
        writer.write(b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readline()
        async with asyncio.timeout(10):
            while server.server_state.connections:  # noqa: ASYNC110 - it has no event for it
                await asyncio.sleep(0.01)
            with pytest.raises(ConnectionResetError):
                await reader.read()
        writer.close()
    assert "did not read" in caplog.text


async def test_an_answer_that_is_read_slowly_is_sent_to_its_end() -> None:
    async with serving(Application()) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        writer.write(b"GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        size = 0
        async with asyncio.timeout(20):
            while found := await reader.read(1 << 22):
                size += len(found)
                await asyncio.sleep(0.01)
        assert size > _LONG << 16
        writer.close()


async def test_what_was_left_of_one_answer_does_not_cut_a_slow_reader_of_the_next() -> None:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 10)
    async with serving(Application(), send_buffer=4 << 10) as (_, port):
        client.connect(("127.0.0.1", port))
        reader, writer = await asyncio.open_connection(sock=client, limit=512)
        writer.write(b"GET /short HTTP/1.1\r\nHost: x\r\n\r\n")
        await asyncio.sleep(0.6)  # it is answered, and some of it waits for its reader
        async with asyncio.timeout(30):
            await reader.readuntil(b"\r\n\r\n")
            size = await _read(reader, chunk=1 << 10, until=_SHORT)
            writer.write(b"GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            for _ in range(80):  # longer than what was left was to be waited for
                size += len(await reader.read(1 << 10))
                await asyncio.sleep(0.01)
            size += await _read(reader, chunk=1 << 20, until=None)
        assert size > _SHORT + (_LONG << 16)
        writer.close()


async def _read(reader: asyncio.StreamReader, *, chunk: int, until: int | None) -> int:
    size = 0
    while (until is None or size < until) and (found := await reader.read(chunk)):
        size += len(found)
    return size
