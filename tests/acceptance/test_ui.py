"""`et ui` as a person uses it: a folder, a browser's requests, and Ctrl-C."""

from __future__ import annotations

import contextlib
import hashlib
import http.cookiejar
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from tests.acceptance.platform_servers import DEADLINE_SECONDS, SOURCE, is_gone
from tests.waiting import until

import expr_tracker as et
from mapi.database.embedded.sockets import remove_socket_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(240)]


class Looking:
    """An `et ui` of its own process group, and what it printed."""

    def __init__(self, folder: Path, data: Path, *words: str, **variables: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MAPI_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "expr_tracker", "ui", str(folder), *words],
            env={
                **kept,
                "PYTHONPATH": str(SOURCE),
                "PYTHONUNBUFFERED": "1",
                "XDG_DATA_HOME": str(data),
                **variables,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.data = data

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.said.extend(self.process.stdout)

    def line(self, beginning: str) -> str:
        found: list[str] = []

        def is_said() -> bool:
            found[:] = [one for one in [*self.said] if one.startswith(beginning)]
            return bool(found) or self.process.poll() is not None

        until(is_said, f"a line {beginning!r}")
        assert found, "".join(self.said)
        return found[0].removeprefix(beginning).strip()

    @property
    def home(self) -> Path:
        (found,) = (self.data / "mapi-ui").iterdir()
        return found

    @property
    def local(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.home / "local.json").read_text())
        return found

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Wait for its end, and for all that it printed."""
        code = self.process.wait(DEADLINE_SECONDS)
        self._reader.join(DEADLINE_SECONDS)
        return code


@pytest.fixture
def look(tmp_path: Path) -> Iterator[Callable[..., Looking]]:
    begun: list[Looking] = []

    def begin(folder: Path, *words: str, **variables: str) -> Looking:
        begun.append(Looking(folder, tmp_path / "data", *words, **variables))
        return begun[-1]

    yield begin
    for one in begun:
        if one.process.poll() is None:
            one.end(signal.SIGTERM)
        assert one.process.stdout is not None
        one.process.stdout.close()
    for home in (tmp_path / "data" / "mapi-ui").glob("*"):
        with contextlib.suppress(OSError, ValueError):
            os.kill(json.loads((home / "local.json").read_text())["pid"], signal.SIGKILL)
        remove_socket_directory(home / "postgres")


def log_run(folder: Path, name: str, steps: int = 20) -> None:
    run = et.init(project="demo", name=name, dir=folder)
    for step in range(steps):
        run.log({"loss": 1 / (1 + step)}, step=step)
    run.finish()


def runs_of(opener: urllib.request.OpenerDirector, url: str) -> dict[str, Any]:
    address = f"{url}/v1/runs?project=demo&columns=metrics.loss.count"
    with opener.open(address, timeout=30) as answer:
        page = json.loads(answer.read())
    return {run["name"]: (run["status"], *run["values"]) for run in page["runs"]}


def digest_of(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_runs_of_a_folder_are_seen_live_until_ctrl_c(
    look: Callable[..., Looking], tmp_path: Path
) -> None:
    folder = tmp_path / "runs"
    log_run(folder, "first")
    before = digest_of(folder)
    looking = look(folder)
    link = looking.line("Sign in once: ")
    opener = urllib.request.build_opener(
        urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    )
    with opener.open(link, timeout=30) as landed:
        # The newest run's project, without another word.
        assert landed.url.endswith("/runs?project=demo")
    url = "{0.scheme}://{0.netloc}".format(urlsplit(link))
    until(lambda: runs_of(opener, url) == {"first": ("succeeded", 20)}, "the run on the platform")
    log_run(folder, "second", steps=7)
    until(lambda: "second" in runs_of(opener, url), "the new run on the platform")
    until(lambda: runs_of(opener, url)["second"] == ("succeeded", 7), "all of it")
    assert digest_of(folder).items() >= before.items()
    server = looking.local["pid"]
    assert looking.end() == 0, "".join(looking.said)
    assert is_gone(server)
    assert not (looking.home / "local.json").exists()


def test_a_second_one_uses_the_server_of_the_first_and_leaves_it(
    look: Callable[..., Looking], tmp_path: Path
) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    first = look(folder)
    url = first.line(f"The runs below {folder}, live: ")
    # Without a run there is no project to show.
    assert url.endswith("/runs")
    second = look(folder, "--project", "a b")
    assert second.line(f"The runs below {folder}, live: ") == f"{url}?project=a+b"
    assert second.line("Sign in once: ") != first.line("Sign in once: ")
    server = first.local["pid"]
    assert second.end(signal.SIGTERM) == 0
    assert not is_gone(server)
    assert first.end() == 0
    assert is_gone(server)


def test_of_two_that_begin_at_once_the_second_uses_the_server_of_the_first(
    look: Callable[..., Looking], tmp_path: Path
) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    both = [look(folder), look(folder)]
    urls = {one.line(f"The runs below {folder}, live: ") for one in both}
    assert len(urls) == 1
    assert sorted(one.line("Ctrl-C ends ") for one in both) == [
        "only this command.",
        "the server, and nothing of the runs.",
    ]


def test_programs_find_the_server_by_the_line_that_is_printed_whatever_else_is_kept(
    look: Callable[..., Looking], tmp_path: Path
) -> None:
    folder = tmp_path / "it's here"
    folder.mkdir()
    looking = look(folder)
    line = looking.line("For programs that ask or write to it: ")
    assert looking.local["token"] not in line
    profile = tmp_path / "config" / "mapi" / "profile.json"
    profile.parent.mkdir(parents=True)
    profile.write_text(json.dumps({"url": "http://127.0.0.1:9", "token": "mapi_other"}))
    profile.chmod(0o600)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAPI_")}
    program = (
        "import mapi, os; from mapi.config import client_places; assert client_places().profile.is_file()\n"
        "mapi.Client(project='default').runs.create(name='first'); print(mapi.Client().url)"
    )
    done = subprocess.run(
        ["sh", "-c", f'{line}; exec "$0" -c "$1"', sys.executable, program],
        env={**kept, "PYTHONPATH": str(SOURCE), "XDG_CONFIG_HOME": str(tmp_path / "config")},
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    url = "{0.scheme}://{0.netloc}".format(urlsplit(looking.line("Sign in once: ")))
    assert (done.stdout.strip(), done.returncode) == (url, 0), done.stderr


def test_a_server_that_does_not_start_says_which_copies_may_be_deleted(
    look: Callable[..., Looking], tmp_path: Path
) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    # The server has said why before.
    ours = "Error: The server of "
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = ("--port", str(taken.getsockname()[1]))
        looking = look(folder, *words)
        assert looking.wait() == 1
        said = looking.line(ours)
        assert f"made the database, delete {looking.home}: " in said
        assert "what programs wrote to the server itself" in said
        # A home that somebody named may hold more than copies.
        named = look(folder, *words, MAPI_HOME=str(tmp_path / "home"))
        assert named.wait() == 1
        assert named.line(ours).endswith("it says above why.")


def test_a_server_that_dies_is_told_and_ends_the_command(
    look: Callable[..., Looking], tmp_path: Path
) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    looking = look(folder)
    looking.line("Sign in once: ")
    os.kill(looking.local["pid"], signal.SIGKILL)
    assert looking.process.wait(DEADLINE_SECONDS) == 1
    assert "has ended (exit code -9)" in looking.line("Error: ")


def test_a_command_that_is_killed_leaves_no_server_behind(
    look: Callable[..., Looking], tmp_path: Path
) -> None:
    folder = tmp_path / "runs"
    log_run(folder, "first")
    looking = look(folder)
    looking.line("Sign in once: ")
    server = looking.local["pid"]
    looking.end(signal.SIGKILL)
    until(lambda: is_gone(server), "the server's end")
    assert not (looking.home / "local.json").exists()


def test_a_folder_that_is_not_there_is_told_before_anything_starts(
    look: Callable[..., Looking], tmp_path: Path
) -> None:
    looking = look(tmp_path / "nothing")
    assert looking.wait() == 2
    assert "is no folder" in "".join(looking.said)
    assert not (tmp_path / "data").exists()
