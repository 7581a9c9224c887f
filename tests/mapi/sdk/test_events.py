"""Event streams: read in any pieces, and gone on with where the line broke."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mapi.callers import make_token
from tests.mapi.sdk.asking import BOTH, ask
from tests.mapi.sdk.small_servers import problem, serving_script, stays_silent
from tests.mapi.serving import serving_replica

import mapi
from mapi.sdk.frames import FrameReader
from mapi.wire.enums import RunStatus
from mapi.wire.events import LogFrame, StatusFrame, TrackingFrame

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from tests.mapi.sdk.small_servers import SmallServer
    from tests.mapi.tenants import Tenant


def frame(kind: str, number: str | None = None, **members: Any) -> bytes:
    head = b"" if number is None else b"id: %s\n" % number.encode()
    body = json.dumps({"type": kind, "run": "run_1", **members}).encode()
    return b"%sevent: %s\ndata: %s\n\n" % (head, kind.encode(), body)


def status(word: str, number: str | None = None) -> bytes:
    return frame("status", number, status=word, time="2026-11-29T12:00:00Z")


LOG = frame("log", "3.1", lines=[])
STREAM = (
    status("running") + frame("tracking", "1.0", change_seq=1) + b": alive\n\n"
    + frame("from_the_future", "2.0") + LOG + status("succeeded", "4.1")
)  # fmt: skip


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_frames_are_read_whatever_the_pieces_are(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    reader = FrameReader()
    found = [
        sent
        for start, stop in itertools.pairwise(edges)
        for sent in reader.read(STREAM[start:stop])
    ]
    assert [(type(sent.frame), sent.id) for sent in found] == [
        (StatusFrame, None),
        (TrackingFrame, "1.0"),
        (LogFrame, "3.1"),
        (StatusFrame, "4.1"),
    ]


def streams(content: bytes) -> Callable[[socket.socket, SmallServer], None]:
    """Send the pieces of a stream, and break the line."""

    def step(connection: socket.socket, _: SmallServer) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + content)
        connection.close()

    return step


@pytest.mark.parametrize("kind", BOTH)
def test_a_broken_line_is_opened_again_where_it_was(kind: str) -> None:
    with serving_script(
        streams(status("running", "1.0")),
        problem(503, "UNAVAILABLE", retryable=True),
        streams(LOG),
        streams(status("succeeded", "4.1")),
    ) as server:
        found = ask(kind, server.url, "runs.events", "run_1")
    assert [type(one) for one in found] == [StatusFrame, LogFrame, StatusFrame]
    positions = [one.headers.get("last-event-id") for one in server.asked]
    assert positions == [None, "1.0", "1.0", "3.1"]


@pytest.mark.parametrize("kind", BOTH)
def test_a_run_that_is_not_there_is_told_at_once(kind: str) -> None:
    with serving_script(problem(404, "NOT_FOUND")) as server:
        with pytest.raises(mapi.NotFoundError):
            ask(kind, server.url, "runs.events", "run_1")
        assert len(server.asked) == 1


@pytest.mark.parametrize("kind", BOTH)
def test_a_server_that_stays_away_is_an_error(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mapi.sdk.repeating.TRIES_MAX", 3)
    with serving_script(streams(status("running", "1.0")), stays_silent) as server:
        with pytest.raises(mapi.ConnectionFailedError):
            ask(kind, server.url, "runs.events", "run_1", timeout_seconds=0.2)
        assert len(server.asked) == 4


@pytest.mark.anyio
async def test_a_run_is_followed_while_it_goes_on(database_url: str, tenant: Tenant) -> None:
    async with (
        serving_replica(database_url) as (url, _),
        mapi.AsyncClient(url, token=make_token(tenant)) as api,
    ):
        run = await api.runs.create()
        found: list[Any] = []
        async with asyncio.timeout(30):
            async for one in api.runs.events(run):
                if not found:
                    await api.runs.log_metric(run, "loss", 0.5, step=0)
                    await api.runs.log_line(run, "hello")
                    await run.finish()
                found.append(one)
    statuses = [one.status for one in found if isinstance(one, StatusFrame)]
    assert (statuses[0], statuses[-1]) == (RunStatus.RUNNING, RunStatus.SUCCEEDED)
    lines = [line.message for one in found if isinstance(one, LogFrame) for line in one.lines]
    keys = [one.key for frame in found if isinstance(frame, TrackingFrame) for one in frame.series]
    assert lines == ["hello"]
    assert "loss" in keys
