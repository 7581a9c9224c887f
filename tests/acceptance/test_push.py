"""`et push` against `mapi serve`: whatever is killed meanwhile, each row arrives once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.acceptance.platform_servers import (
    DEADLINE_SECONDS,
    SOURCE,
    Server,
    environment_of,
)
from tests.waiting import until

import expr_tracker as et

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.acceptance

ROWS = 40_000
WATCHING = "Watching for rows and runs that come; Ctrl-C ends it."
PROGRAM = """\
import sys
import expr_tracker as et
run = et.init(project="p", name="r", dir=sys.argv[1])
for step in range(10):
    run.log({"loss": step}, step=step)
run.flush(commit_open=True)
sys.stdin.readline()
run.log({"loss": 10}, step=10)
"""


def push(home: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "expr_tracker", "push", *words],
        env=environment_of(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process: subprocess.Popen[str], *, code: int = 0) -> str:
    said, _ = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == code, said
    return said


def written(folder: Path, rows: int = ROWS) -> Path:
    run = et.init(project="p", name="r", dir=folder, system_metrics=False, durability="buffered")
    for step in range(rows):
        run.log({"loss": step / 2, "acc": float(-step)}, step=step)
    run.log({"loss": -1.0}, step=7)
    run.finish()
    return Path(run.dir)


def stored(server: Server) -> dict[str, Any]:
    """Return what the platform has of the one run."""
    _, page = server.ask("GET", "/v1/runs?project=p")
    (run,) = page["runs"]
    _, series = server.ask("GET", f"/v1/runs/{run['id']}/metrics")
    found = {one["key"]: one for one in series["series"]}
    _, writers = server.ask("GET", f"/v1/runs/{run['id']}/writers")
    return {"run": run, "series": found, "writers": writers["writers"]}


def points_so_far(server: Server) -> int:
    try:
        status, page = server.ask("GET", "/v1/runs?project=p")
        if status != 200 or not page["runs"]:
            return 0
        _, series = server.ask("GET", f"/v1/runs/{page['runs'][0]['id']}/metrics")
    except OSError:
        return 0
    return sum(one["count"] for one in series["series"])


def has_more(server: Server, process: subprocess.Popen[str], before: int) -> bool:
    return points_so_far(server) > before or process.poll() is not None


def check_whole(server: Server, rows: int = ROWS) -> None:
    found = stored(server)
    assert found["run"]["status"] == "succeeded"
    for key, low in (("loss", -1.0), ("acc", 1.0 - rows)):
        one = found["series"][key]
        assert (one["count"], one["min_value"], one["last_step"]) == (rows, low, rows - 1)
    mean = (sum(step / 2 for step in range(rows)) - 7 / 2 - 1.0) / rows
    assert found["series"]["loss"]["mean"] == pytest.approx(mean)


def test_a_push_that_is_killed_again_and_again_is_completed_by_the_next(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    server = serve()
    written(tmp_path / "runs")
    before = 0
    for _ in range(3):
        process = push(server.home, str(tmp_path / "runs"))
        until(partial(has_more, server, process, before), "points arrive")
        process.kill()
        process.communicate()
        before = points_so_far(server)
    ended(push(server.home, str(tmp_path / "runs")))
    check_whole(server)


@pytest.mark.parametrize("victim", ["server", "database"])
def test_a_server_or_a_database_that_is_killed_costs_a_push_its_time_alone(
    serve: Callable[..., Server], tmp_path: Path, victim: str
) -> None:
    server = serve()
    port = server.url.rpartition(":")[2]
    written(tmp_path / "runs")
    process = push(server.home, str(tmp_path / "runs"))
    until(partial(has_more, server, process, 0), "points arrive")
    if victim == "database":
        os.kill(server.postmaster(), signal.SIGKILL)
    else:
        os.killpg(server.process.pid, signal.SIGKILL)
        server.process.wait(DEADLINE_SECONDS)
    if victim == "server" or server.process.poll() is not None:
        server.process.wait(DEADLINE_SECONDS)
        server = serve(server.home, "--port", port)
    process.communicate(timeout=DEADLINE_SECONDS)
    ended(push(server.home, str(tmp_path / "runs")))
    check_whole(server)


def test_a_watch_follows_a_program_until_its_end_and_ends_by_a_signal(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    server = serve()
    (tmp_path / "runs").mkdir()
    process = push(server.home, str(tmp_path / "runs"), "--watch")
    program = subprocess.Popen(
        [
            sys.executable,
            "-c",
            PROGRAM,
            str(tmp_path / "runs"),
        ],
        stdin=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        text=True,
    )
    try:
        until(lambda: points_so_far(server) == 10, "the rows of a live run arrive")
        assert stored(server)["run"]["status"] == "running"
        program.communicate("go\n", timeout=DEADLINE_SECONDS)
        until(lambda: stored(server)["run"]["status"] == "succeeded", "it ends there too")
        assert points_so_far(server) == 11
        process.send_signal(signal.SIGINT)
        lines = ended(process).splitlines()
    finally:
        program.kill()
        process.kill()
    assert lines.count(WATCHING) == 1
    told = [line.split(", ")[0].rpartition(": ")[2] for line in lines if line != WATCHING]
    assert told == ["running", "succeeded"]


def test_a_server_that_is_not_there_is_one_line_and_the_files_stay(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    path = written(tmp_path / "runs", rows=3)
    before = {one.name: one.read_bytes() for one in path.iterdir() if one.is_file()}
    said = ended(push(home, str(tmp_path / "runs")), code=1)
    assert said.count("\n") == 1
    assert said.startswith("Error: ")
    assert {one.name: one.read_bytes() for one in path.iterdir() if one.is_file()} == before
    json.loads(before["run.json"])
