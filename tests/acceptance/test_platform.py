"""The platform as its operator meets it: killed, stopped under load, twice on one database."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.acceptance.platform_servers import (
    DEADLINE_SECONDS,
    SOURCE,
    Server,
    environment_of,
    mapi_command,
    point_at,
    run_mapi,
)
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.acceptance


@pytest.mark.parametrize("given", ["<&-", "</dev/null"], ids=["closed", "empty"])
def test_an_input_that_has_ended_before_the_start_stops_the_server_at_once(
    tmp_path: Path, given: str
) -> None:
    words = mapi_command("serve", "--port", "0", "--no-browser", "--stop-at-eof")
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {given}', "sh", *words],
        env=environment_of(tmp_path / "home"),
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_was_answered_survives_kill_9_of_the_server(serve: Callable[..., Server]) -> None:
    server = serve()
    _, run = server.ask("POST", "/v1/runs", {})
    path = f"/v1/runs/{run['id']}/metrics"
    for step in range(20):
        assert server.ask("POST", path, point_at(step))[0] == 200
    server.end(signal.SIGKILL)
    again = serve()
    status, curve = again.ask("GET", path + "/points?key=loss")
    assert status == 200
    assert [point[0] for point in curve["points"]] == list(range(20))
    assert again.end() == 0
    assert not (again.home / "local.json").exists()


def test_after_kill_9_of_the_database_the_server_starts_it_again_with_all_that_was_answered(
    serve: Callable[..., Server],
) -> None:
    server = serve()
    _, run = server.ask("POST", "/v1/runs", {})
    path = f"/v1/runs/{run['id']}/metrics"
    for beginning in (0, 10):
        for step in range(beginning, beginning + 10):
            assert server.ask("POST", path, point_at(step))[0] == 200
        dead = server.postmaster()
        os.kill(dead, signal.SIGKILL)
        told = _answers_until_back(server, path + "/points?key=loss", dead)
        # While it is away a client is told to come back, and nothing worse.
        assert told <= {(200, ""), (503, "UNAVAILABLE")}
    _, curve = server.ask("GET", path + "/points?key=loss")
    assert [point[0] for point in curve["points"]] == list(range(20))
    assert server.end() == 0


def _answers_until_back(server: Server, path: str, dead: int) -> set[tuple[int, str]]:
    """Ask until another database than the dead one answers; return what was answered meanwhile."""
    told: set[tuple[int, str]] = set()

    def is_back() -> bool:
        status, answer = server.ask("GET", path)
        told.add((status, answer.get("code", "")))
        return status == 200 and server.postmaster() != dead

    until(is_back, "the database is back")
    return told


def test_a_server_that_is_told_to_stop_answers_what_it_has_begun(
    serve: Callable[..., Server],
) -> None:
    server = serve()
    _, run = server.ask("POST", "/v1/runs", {})
    host, port = server.url.removeprefix("http://").split(":")
    body = json.dumps(point_at(7)).encode()
    head = (
        f"POST /v1/runs/{run['id']}/metrics HTTP/1.1\r\nHost: {host}\r\n"
        f"Authorization: Bearer {server.token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    import socket

    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(head + body[:5])
        until(
            lambda: b"under_way 2.0" in _metrics(server),  # ours, and the one that asks
            "the request is under way",
        )
        server.process.send_signal(signal.SIGTERM)
        connection.sendall(body[5:])
        answer = connection.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 200")
    assert server.process.wait(DEADLINE_SECONDS) == 0


def _metrics(server: Server) -> bytes:
    with urllib.request.urlopen(server.url + "/metrics", timeout=30) as answer:
        found: bytes = answer.read()
    return found


def test_the_link_signs_in_and_the_second_server_on_a_home_is_told_of_the_first(
    serve: Callable[..., Server],
) -> None:
    server = serve()
    opener = urllib.request.build_opener(_Stay, urllib.request.HTTPCookieProcessor())
    with pytest.raises(urllib.error.HTTPError) as found:
        opener.open(server.sign_in_url)
    assert found.value.code == 303
    found.value.close()
    with opener.open(server.url + "/v1/session") as answer:
        assert json.loads(answer.read())["is_tenant_admin"] is True
    second = run_mapi(server.home, "serve", "--port", "0", "--no-browser")
    assert second.returncode == 1
    assert second.stderr.startswith("Error: The home")
    assert str(server.process.pid) in second.stderr
    compacted = run_mapi(server.home, "admin", "compact", "--hours", "0")
    assert (compacted.returncode, compacted.stdout) == (0, "Compacted 0 points.\n")
    rule = ("--project", "default", "--best", "3", "--by", "metrics.loss.min")
    made = run_mapi(server.home, "admin", "retention", "set", *rule)
    assert (made.returncode, made.stdout) == (0, "Rule 1 keeps runs of default.\n")
    rules = run_mapi(server.home, "admin", "retention", "ls", "--format", "json")
    assert json.loads(rules.stdout) == [
        {"number": 1, "project": "default", "filter": "", "best": 3, "by": "metrics.loss.min"}
    ]
    foreseen = run_mapi(server.home, "admin", "retention", "--dry-run", "--format", "json")
    assert (foreseen.returncode, json.loads(foreseen.stdout)) == (0, [])
    assert run_mapi(server.home, "admin", "retention", "remove", "1").returncode == 0
    assert run_mapi(server.home, "admin", "retention", "remove", "1").returncode == 1
    beside = run_mapi(server.home, "admin", "token", "create", "beside", "--scope", "runs:read")
    assert server.ask("GET", "/v1/session", token=beside.stdout.strip())[0] == 200
    assert "not running" not in run_mapi(server.home, "doctor").stdout
    copy = server.home.parent / "live.tar"
    assert run_mapi(server.home, "backup", str(copy)).returncode == 0
    assert copy.stat().st_size > 10_000


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: Any, **_more: Any) -> None:
        return None


def _external(server: Server) -> dict[str, str]:
    """Return settings by which others serve from the database of a running server."""
    probe = (
        "import sys; from mapi.config import settings_from\n"
        "from contextlib import ExitStack\n"
        "from mapi.serve.platform import reach_foundation\n"
        "with ExitStack() as undo:\n"
        "    found = reach_foundation(settings_from(), undo)\n"
        "print(found.database_url); print(found.admin_url)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe],
        env=environment_of(server.home),
        capture_output=True,
        text=True,
        check=True,
    )
    url, admin_url = done.stdout.splitlines()
    assert conninfo_to_dict(url)["user"] == "mapi"
    return {"MAPI_DATABASE_URL": url, "MAPI_DATABASE_ADMIN_URL": admin_url}


def test_two_replicas_on_one_database_are_one_server(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    first = serve()
    settings = _external(first)
    replicas = [serve(tmp_path / f"replica{number}", **settings) for number in range(2)]
    token = run_mapi(
        tmp_path / "replica0", "admin", "token", "create", "t", "--scope", "admin", **settings
    ).stdout.strip()
    one, two = replicas
    _, run = one.ask("POST", "/v1/runs", {"external_id": "same"}, token=token)
    assert two.ask("POST", "/v1/runs", {"external_id": "same"}, token=token)[1]["id"] == run["id"]
    path = f"/v1/runs/{run['id']}/metrics"
    statuses: list[int] = []

    def write(server: Server) -> None:
        statuses.extend(
            server.ask("POST", path, point_at(step), token=token)[0] for step in range(30)
        )

    writers = [threading.Thread(target=write, args=[server]) for server in replicas]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert set(statuses) == {200}
    for server in replicas:
        _, curve = server.ask("GET", path + "/points?key=loss", token=token)
        assert len(curve["points"]) == 30
    # A token that one revokes is worth nothing at the other at once.
    assert one.ask("DELETE", f"/v1/tokens/{token.split('_')[1]}", token=token)[0] == 204
    assert two.ask("GET", "/v1/session", token=token)[0] == 401
    # One goes, the other serves on; its log is lines of JSON without the token.
    assert one.end() == 0
    assert two.ask("GET", "/readyz", token=token)[0] == 200
    # The line of an answer is written behind the answer.
    until(lambda: "/readyz" in _routes(two), "the line of the answer to /readyz")
    assert token not in two.log


def _routes(server: Server) -> set[str]:
    lines = [line for line in server.log.splitlines(keepends=True) if line.endswith("}\n")]
    return {json.loads(line).get("route") for line in lines}


@pytest.fixture
def lent() -> Iterator[tuple[Path, list[str]]]:
    """A home of the user nobody, and the paths of our code where that user can read them.

    A clone below root's own folders is closed to others; mounted a second time it is open.
    """
    nobody = pwd.getpwnam("nobody")
    home = Path("/tmp") / f"mapi-of-nobody-{os.getpid()}"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(mode=0o700)
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    mounted: list[Path] = []
    paths: list[str] = []
    try:
        site = [path for path in sys.path if path.endswith("site-packages")]
        for number, path in enumerate([str(SOURCE), *site]):
            place = home / f"code{number}"
            place.mkdir()
            done = subprocess.run(
                ["mount", "--bind", path, place], capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                pytest.skip(f"no mount here: {done.stderr.strip()}")
            mounted.append(place)
            paths.append(str(place))
        yield home, paths
    finally:
        for place in mounted:
            subprocess.run(["umount", "-l", place], check=True)
        shutil.rmtree(home, ignore_errors=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="another user can be taken by root only")
def test_an_ordinary_user_serves_and_takes_nothing_outside_of_home(
    lent: tuple[Path, list[str]],
) -> None:
    home, paths = lent
    nobody = pwd.getpwnam("nobody")
    # The interpreter of the tests may lie in root's own home.
    python = next(
        (one for one in (sys.executable, "/usr/bin/python3") if _runs_as(one, nobody.pw_uid)), None
    )
    if python is None:
        pytest.skip("nobody cannot run a Python of this version")
    variables = {
        **environment_of(home / "mapi"),
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join(paths),
        # The code is the tests' own: no byte code of nobody's is to stay in it.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for words in (("migrate",), ("doctor",)):
        done = subprocess.run(
            [python, "-c", "from mapi.cli import main; main()", *words],
            env=variables,
            user=nobody.pw_uid,
            group=nobody.pw_gid,
            cwd="/",
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (home / "mapi" / "postgres" / "data").stat().st_uid == nobody.pw_uid


def _runs_as(python: str, user_id: int) -> bool:
    wanted = f"{sys.version_info.major}.{sys.version_info.minor}"
    try:
        done = subprocess.run(
            [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            user=user_id,
            cwd="/",
            env={},
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return False
    return done.stdout.strip() == wanted
