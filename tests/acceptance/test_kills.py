"""Killed in the midst of a stream of writes, and stopped at any moment: what was answered is there."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.acceptance.platform_servers import (
    DEADLINE_SECONDS,
    LOOK_SECONDS,
    Server,
    environment_of,
    is_gone,
    mapi_command,
    point_at,
)
from tests.waiting import until

from mapi.serve.command import _DRAIN_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]


class Writer:
    """Writes a point and a log line a step, again and again until each is acknowledged."""

    def __init__(self, run: str, server: Callable[[], Server]) -> None:
        self.run = run
        self._server = server
        self._token = server().token
        self._is_over = threading.Event()
        self.acknowledged = 0
        self.worst: set[int] = set()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        while not self._is_over.is_set():
            step = self.acknowledged
            if not self._until_acknowledged("metrics", point_at(step)):
                return
            line = {"message": f"step {step}", "level": "info"}
            # With its number, by which a line that is sent again is known.
            noted = {"lines": [line], "writer": "w", "seq": step + 1}
            if self._until_acknowledged("logs", noted):
                self.acknowledged += 1

    def _until_acknowledged(self, what: str, body: dict[str, Any]) -> bool:
        while not self._is_over.is_set():
            try:
                status, _ = self._server().ask(
                    "POST", f"/v1/runs/{self.run}/{what}", body, token=self._token
                )
            except OSError:
                status = 0  # nobody answers: the server is dead
            if status == 200:
                return True
            self.worst.add(status)
            time.sleep(LOOK_SECONDS)
        return False

    def until(self, count: int) -> None:
        until(lambda: self.acknowledged >= count, f"{count} steps are acknowledged")

    def end(self) -> int:
        self._is_over.set()
        self._thread.join(DEADLINE_SECONDS)
        return self.acknowledged


def check_all_there(server: Server, run: str, count: int) -> None:
    """Fail unless every acknowledged step is there once; the one under way may be as well."""
    _, curve = server.ask("GET", f"/v1/runs/{run}/metrics/points?key=loss&limit=5000")
    steps = [(step, value) for step, _, value, *_ in curve["points"]]
    assert steps in [[(n, float(n)) for n in range(count + more)] for more in (0, 1)]
    messages: list[str] = []
    after = 0
    while True:
        _, page = server.ask("GET", f"/v1/runs/{run}/logs?after={after}&limit=1000")
        if not page["lines"]:
            break
        messages += [line["message"] for line in page["lines"]]
        after = page["next_after"]
    assert messages in [[f"step {n}" for n in range(count + more)] for more in (0, 1)]


def test_kill_9_of_the_server_in_the_midst_of_writes_loses_and_doubles_nothing(
    serve: Callable[..., Server],
) -> None:
    servers = [serve()]
    _, run = servers[0].ask("POST", "/v1/runs", {})
    writer = Writer(run["id"], lambda: servers[-1])
    for round_number in range(2):
        writer.until(20 * (round_number + 1))
        servers[-1].end(signal.SIGKILL)
        servers.append(serve())
    writer.until(60)
    check_all_there(servers[-1], run["id"], writer.end())
    assert servers[-1].end() == 0


@pytest.mark.parametrize("whom", ["the postmaster", "a backend"])
def test_kill_9_of_the_database_in_the_midst_of_writes_loses_and_doubles_nothing(
    serve: Callable[..., Server], whom: str
) -> None:
    server = serve()
    _, run = server.ask("POST", "/v1/runs", {})
    writer = Writer(run["id"], lambda: server)
    for round_number in range(2):
        writer.until(20 * (round_number + 1))
        postmaster = server.postmaster()
        victims = [postmaster] if whom == "the postmaster" else backends_of(postmaster)
        os.kill(victims[0], signal.SIGKILL)
    writer.until(60)
    check_all_there(server, run["id"], writer.end())
    # While it is away a client is told to come back, and nothing worse.
    assert writer.worst <= {503}
    assert server.end() == 0


def backends_of(postmaster: int) -> list[int]:
    """Return the processes in which the database serves the role of the server."""
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    found = [
        int(child)
        for child in children
        if b"postgres: mapi " in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    assert found, "the server has no connection to its database"
    return found


def begin(home: Path, log: Path) -> subprocess.Popen[bytes]:
    """Start a server and wait for nothing; its temporary files are beside its home."""
    with log.open("wb") as output:
        return subprocess.Popen(
            mapi_command("serve", "--port", "0", "--no-browser"),
            env=environment_of(home, TMPDIR=str(home.parent)),
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def leftovers(home: Path) -> list[str]:
    """Return what a stopped server should have taken with it: processes and files."""
    found = [str(path) for path in home.parent.glob("mapi-*")]
    found += [str(path) for path in home.glob("local.json*")]
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and not is_gone(int(process.name)):
            try:
                words = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(home) in words and b"initdb" not in words:
                found.append(words.decode(errors="replace"))
    return found


#: What there is at a moment of the start, below the home.
MOMENTS = ["", "postgres/data.part", "postgres/data", "postgres/data/postmaster.pid", "token"]


@pytest.mark.parametrize(
    ("moment", "number"),
    [*((moment, signal.SIGTERM) for moment in MOMENTS), (MOMENTS[1], signal.SIGINT)],
)
def test_a_server_that_is_stopped_while_it_starts_leaves_nothing_behind_and_starts_again(
    tmp_path: Path, serve: Callable[..., Server], moment: str, number: int
) -> None:
    home, log = tmp_path / "home", tmp_path / "log"
    process = begin(home, log)
    try:
        until((home / moment).exists, f"{moment or 'home'} is there")
        process.send_signal(number)
        assert process.wait(DEADLINE_SECONDS) == 0, log.read_text()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert log.read_text() in {"", *said_when_ready(log)}
    until(lambda: not leftovers(home), f"{leftovers(home)} are gone")
    server = serve(home)
    assert server.ask("GET", "/v1/session")[0] == 200
    assert server.end(number) == 0
    assert "Traceback" not in server.log


def said_when_ready(log: Path) -> list[str]:
    """Return what it may have said, had it been faster than the signal: two lines, no more."""
    text = log.read_text()
    is_ready = text.startswith("http://") and text.count("\n") <= 2
    return [text] if is_ready else []


def test_a_second_signal_changes_nothing(tmp_path: Path, serve: Callable[..., Server]) -> None:
    server = serve()
    postmaster = server.postmaster()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
        server.process.send_signal(number)
    assert server.process.wait(DEADLINE_SECONDS) == 0
    assert "Traceback" not in server.log
    assert is_gone(postmaster)


@pytest.mark.parametrize("path", ["/v1/runs/{run}/events", "/v1/events"])
@pytest.mark.parametrize("reads", [True, False])
def test_a_server_with_open_streams_stops_at_once(
    serve: Callable[..., Server], path: str, reads: bool
) -> None:
    server = serve()
    _, run = server.ask("POST", "/v1/runs", {})
    host, port = server.url.removeprefix("http://").split(":")
    with socket.socket() as reader:
        if not reads:
            # Little fits on the way, and it takes nothing out.
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        reader.connect((host, int(port)))
        reader.sendall(
            f"GET {path.format(run=run['id'])} HTTP/1.1\r\nHost: {host}\r\n"
            f"Authorization: Bearer {server.token}\r\n\r\n".encode()
        )
        assert reader.recv(12) == b"HTTP/1.1 200"
        lines = {"lines": [{"message": "x" * 16_000, "level": "info"}] * 200}
        for _ in range(1 if reads else 4):
            assert server.ask("POST", f"/v1/runs/{run['id']}/logs", lines)[0] == 200
        if reads:
            threading.Thread(target=lambda: list(iter(lambda: reader.recv(65_536), b""))).start()
        begun = time.monotonic()
        assert server.end() == 0
        # It waited for nobody: who is waited for has as long as the drain takes.
        assert time.monotonic() - begun < _DRAIN_SECONDS
    assert "Traceback" not in server.log


def test_json_of_the_local_server_is_gone_when_it_has_stopped(
    serve: Callable[..., Server],
) -> None:
    server = serve()
    assert json.loads((server.home / "local.json").read_text())["pid"] == server.process.pid
    assert server.end(signal.SIGINT) == 0
    assert not (server.home / "local.json").exists()
