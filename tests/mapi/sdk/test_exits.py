"""The end of a program whose runs nobody has finished: it sends what waits, within one limit."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.sdk.small_servers import cuts, says, serving_script
from tests.mapi.sdk.test_run import FINE, answering
from tests.mapi.sdk.test_transport import COUNTS

if TYPE_CHECKING:
    from collections.abc import Callable

#: Runs without a block; a word from here lets the program end.
PROGRAM = """
import sys, mapi, mapi.sdk.pacing, mapi.sdk.points
mapi.sdk.pacing.EXIT_SECONDS = 1.0
mapi.sdk.points.BATCH_POINTS = 10
api = mapi.Client(sys.argv[1], token="t")
runs = [api.runs.create() for _ in range(int(sys.argv[2]))]
for run in runs:
    for step in range(int(sys.argv[3])): run.log({"loss": step}, step=step)
print("logged", flush=True)
sys.stdin.readline()
"""


class Program:
    def __init__(self, url: str, *args: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, url, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "logged\n"

    def seconds_of_end(self) -> tuple[float, str]:
        """Let it end; return how long that took, and what was said."""
        began = time.monotonic()
        _, wrong = self.process.communicate("end\n", timeout=60)
        assert self.process.returncode == 0, wrong
        return time.monotonic() - began, wrong


def hanging(event: threading.Event) -> Callable[..., None]:
    def hang(connection: Any, server: Any) -> None:
        del connection
        event.set()
        server.ends.wait(120)

    return hang


# Of less than a batch nothing is sent before the end.
@pytest.mark.parametrize("steps", [5, 40], ids=["idle", "sending"])
def test_runs_that_nobody_finished_wait_for_a_silent_server_together(steps: int) -> None:
    asked = threading.Event()
    with serving_script(answering(FINE | {"POST metrics": hanging(asked)})) as server:
        program = Program(server.url, "3", str(steps))
        assert steps == 5 or asked.wait(30)
        seconds, wrong = program.seconds_of_end()
    # One call alone has 30; the rest of these is a busy machine's.
    assert seconds < 10
    assert wrong.count(f"the program ends, and {steps} points are lost") == 3


def test_runs_that_nobody_finished_wait_for_a_server_that_is_gone_together() -> None:
    with serving_script(answering(FINE | {"POST metrics": cuts})) as server:
        program = Program(server.url, "3", "40")
    seconds, wrong = program.seconds_of_end()
    assert seconds < 10
    assert wrong.count("the program ends, and 40 points are lost") == 3


def test_a_slow_server_that_takes_points_is_waited_for() -> None:
    def take(connection: Any, server: Any) -> None:
        server.ends.wait(0.4)
        says(200, COUNTS)(connection, server)

    with serving_script(answering(FINE | {"POST metrics": take})) as server:
        seconds, wrong = Program(server.url, "2", "100").seconds_of_end()
        sent = [json.loads(one.body) for one in server.asked if one.path.endswith("metrics")]
    assert seconds > 2  # twice the limit: it begins anew with each batch
    assert wrong == ""
    steps = [step for one in sent for step in one["series"][0]["steps"]]
    assert sorted(steps) == sorted([*range(100)] * 2)
