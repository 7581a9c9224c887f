"""Event streams: read in any pieces, and gone on with where the line broke."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mapi.callers import make_token
from tests.mapi.sdk.asking import BOTH, TOKEN, ask
from tests.mapi.sdk.small_servers import problem, serving_script, stays_silent
from tests.mapi.serving import serving_replica

import mapi
from mapi.sdk.frames import FrameReader
from mapi.sdk.repeating import TRIES_MAX
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


def sends_slowly(*parts: bytes) -> Callable[[socket.socket, SmallServer], None]:
    """Send a part, and the next when it has probably been read."""

    def step(connection: socket.socket, server: SmallServer) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        for part in parts:
            connection.sendall(part)
            server.ends.wait(0.1)
        server.ends.wait(10)

    return step


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
    for module in ("synchronous", "asynchronous"):
        monkeypatch.setattr(f"mapi.sdk.{module}.run_events._ABSENCE_SECONDS", 1.5)
    with serving_script(streams(status("running", "1.0")), stays_silent) as server:
        begun = time.monotonic()
        with pytest.raises(mapi.ConnectionFailedError) as caught:
            ask(kind, server.url, "runs.events", "run_1", timeout_seconds=0.2)
        assert time.monotonic() - begun < 5
        assert not isinstance(caught.value, mapi.DeadlineError)  # waiting is what following is
        assert len(server.asked) > 2
        assert server.asked[-1].headers["last-event-id"] == "1.0"


@pytest.mark.parametrize("kind", BOTH)
def test_a_server_that_is_away_for_longer_than_a_call_may_be_is_waited_for(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that starts anew takes more tries than a call has."""
    monkeypatch.setattr("mapi.sdk.repeating.PAUSE_SECONDS_MAX", 0.02)
    monkeypatch.setattr("mapi.sdk.repeating._PAUSE_SECONDS_MIN", 0.01)
    away = [problem(503, "UNAVAILABLE", retryable=True)] * (2 * TRIES_MAX)
    with serving_script(
        streams(status("running", "1.0")), *away, streams(status("succeeded", "2.0"))
    ) as server:
        found = ask(kind, server.url, "runs.events", "run_1")
    assert [one.status for one in found] == [RunStatus.RUNNING, RunStatus.SUCCEEDED]


@pytest.mark.parametrize("kind", BOTH)
def test_what_a_caller_does_with_a_frame_is_no_silence_of_the_server(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("synchronous", "asynchronous"):
        monkeypatch.setattr(f"mapi.sdk.{module}.run_events._SILENCE_SECONDS", 0.3)
    asked: list[int] = []
    with serving_script(sends_slowly(status("running", "1.0"), status("failed", "2.0"))) as server:

        async def tasks() -> None:
            async with mapi.AsyncClient(server.url, token=TOKEN) as api:
                async for _ in api.runs.events("run_1"):
                    await asyncio.sleep(0.5)
                    asked.append(len(server.asked))

        if kind == "tasks":
            asyncio.run(tasks())
        else:
            with mapi.Client(server.url, token=TOKEN) as api:
                for _ in api.runs.events("run_1"):
                    threading.Event().wait(0.5)
                    asked.append(len(server.asked))
    assert asked == [1, 1]


@pytest.mark.parametrize("kind", BOTH)
def test_the_runs_of_a_project_are_followed_and_what_was_missed_is_told(kind: str) -> None:
    first = frame("runs", "7", runs=["run_1"])
    second = frame("runs", "9", runs=[], is_partial=True)
    with serving_script(streams(first), streams(second), problem(403, "FORBIDDEN")) as server:
        found: list[Any] = []
        with pytest.raises(mapi.ForbiddenError):
            ask(kind, server.url, "runs.changes", into=found)
    assert [(one.runs, one.is_partial) for one in found] == [(["run_1"], False), ([], True)]
    assert [one.headers.get("last-event-id") for one in server.asked] == [None, "7", "9"]
    assert server.asked[0].path == "/v1/events"


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
