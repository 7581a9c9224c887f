"""The eight-process pipeline on its way to the platform: whatever is killed, both sides have the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.acceptance.platform_servers import (
    DEADLINE_SECONDS,
    Server,
    environment_of,
)
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.acceptance

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "multiprocess_pipeline.py"
#: So many pushes are killed, and each second one together with the server.
KILLS = 6


def et(home: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "expr_tracker", *words],
        env=environment_of(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == 0, said
    return said


@pytest.fixture
def pipeline(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The example, as long as it takes to kill others meanwhile."""
    words = ["--dir", str(tmp_path / "runs"), "--name", "p", "--batches", "60"]
    process = subprocess.Popen(
        [sys.executable, str(EXAMPLE), *words, "--train-ms", "100"],
        env=environment_of(tmp_path / "none"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def sizes(server: Server) -> list[int]:
    """Return where the queues of all runs of the platform stand."""
    try:
        status, page = server.ask("GET", "/v1/runs?project=pipeline")
        if status != 200:
            return []
        found = []
        for run in page["runs"]:
            _, writers = server.ask("GET", f"/v1/runs/{run['id']}/writers")
            found += [one["seq"] for one in writers["writers"]]
    except OSError:
        return []
    return found


def has_moved(server: Server, process: subprocess.Popen[str], before: list[int]) -> bool:
    return process.poll() is not None or sizes(server) != before


def test_the_pipeline_pushed_live_through_kills_of_both_sides_is_the_same_there(
    serve: Callable[..., Server], pipeline: subprocess.Popen[str], tmp_path: Path
) -> None:
    server = serve()
    runs = tmp_path / "runs"
    until(lambda: any(runs.glob("*/p/metrics*.jsonl")), "the pipeline logs")
    (run,) = runs.glob("*/p")
    for kill in range(KILLS):
        before = sizes(server)
        process = et(server.home, "push", str(run))
        until(partial(has_moved, server, process, before), "something arrives")
        if kill % 2:
            server.end(signal.SIGKILL)
            server = serve()
        process.kill()
        process.communicate()
    said, _ = pipeline.communicate(timeout=DEADLINE_SECONDS)
    assert pipeline.returncode == 0, said
    ended(et(server.home, "push", str(run)))
    words = ["verify", str(run), "--against", "mapi", "--format", "json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "expr_tracker", *words],
        env=environment_of(server.home),
        stdout=subprocess.PIPE,
        text=True,
    )
    document = json.loads(ended(process))
    against = document["against"]
    assert (against["equal"], against["counts"]) == (True, [])
    assert len(document["streams"]) >= 8
    assert against["compared"]["span"] > 1_000
    assert against["compared"]["point"] > 1_000
    again = ended(et(server.home, "push", str(run)))
    assert "nothing new" in again
