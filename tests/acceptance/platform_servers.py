"""`mapi serve` as a process: started, asked, killed and ended for sure."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mapi.database.embedded.sockets import remove_socket_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = [
    "DEADLINE_SECONDS",
    "LOOK_SECONDS",
    "SOURCE",
    "Server",
    "environment_of",
    "is_gone",
    "mapi_command",
    "point_at",
    "run_mapi",
    "serve",
]

SOURCE = Path(__file__).resolve().parents[2] / "src"
#: A cold start makes a database cluster, on a machine that has other things to do.
DEADLINE_SECONDS = 90.0
LOOK_SECONDS = 0.02


class Server:
    """A `mapi serve` of its own process group."""

    def __init__(self, home: Path, *words: str, **variables: str) -> None:
        self.home = home
        self._log = home.parent / f"{home.name}-{time.monotonic_ns()}.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*mapi_command("serve", "--port", "0", "--no-browser"), *words],
                env=environment_of(home, **variables),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.url = self._said("http")
        self.url = f"http{self.url}"

    def _said(self, beginning: str) -> str:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            for line in self.log.splitlines(keepends=True):
                if line.startswith(beginning) and line.endswith("\n"):
                    return line.removeprefix(beginning).strip()
            time.sleep(LOOK_SECONDS)
        pytest.fail(f"no line {beginning!r}; it said:\n{self.log}")

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    @property
    def sign_in_url(self) -> str:
        return self._said("Sign in once: ")

    @property
    def token(self) -> str:
        found: str = json.loads((self.home / "local.json").read_text())["token"]
        return found

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Any]:
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {token or self.token}",
                "Content-Type": "application/json",
                **(headers or {}),
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or b"null")

    def postmaster(self) -> int:
        text = (self.home / "postgres" / "data" / "postmaster.pid").read_text()
        return int(text.splitlines()[0])

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(DEADLINE_SECONDS)


def mapi_command(*words: str) -> list[str]:
    return [sys.executable, "-c", "from mapi.cli import main; main()", *words]


def environment_of(home: Path, **variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAPI_")}
    return {
        **kept,
        "PYTHONPATH": str(SOURCE),
        "PYTHONUNBUFFERED": "1",
        "MAPI_HOME": str(home),
        **variables,
    }


def run_mapi(home: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        mapi_command(*words),
        env=environment_of(home, **variables),
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def begin(home: Path | None = None, *words: str, **variables: str) -> Server:
        servers.append(Server(tmp_path / "home" if home is None else home, *words, **variables))
        return servers[-1]

    yield begin
    for server in servers:
        if server.process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.end()
        if server.process.poll() is None:
            os.killpg(server.process.pid, signal.SIGKILL)
            server.process.wait(DEADLINE_SECONDS)
    for home in {server.home / "postgres" for server in servers}:
        # What a killed server leaves the next start takes away, and none may have come.
        remove_socket_directory(home)


def point_at(step: int) -> dict[str, Any]:
    return {"points": [{"key": "loss", "step": step, "value": float(step)}]}


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"
