"""Programs that log into the platform and die, freeze or fail: how each ended can be told."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.acceptance.platform_servers import Server, environment_of
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]

STEPS = 100
PROGRAM = f"""
import sys, mapi
with mapi.Client().runs.create(name=sys.argv[1], params={{"lr": 0.1}}) as run:
    for step in range({STEPS}):
        run.log({{"loss": float(step)}}, step=step)
    run.flush()
    print(run.id, flush=True)
    if sys.argv[1] == "fails":
        raise ValueError("diverged")
    sys.stdin.read()
"""


class Program:
    """One run in a process of its own, which has logged its points and waits."""

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, name],
            env=environment_of(server.home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.run = self.process.stdout.readline().strip()
        assert self.run.startswith("run_"), self.process.communicate()[1]

    def facts(self) -> dict[str, Any]:
        status, found = self.server.ask("GET", f"/v1/runs/{self.run}")
        assert status == 200, found
        return dict(found)

    def wait_for(self, status: str) -> None:
        until(lambda: self.facts()["status"] == status, f"{self.facts()} to be {status}")

    def check_log(self) -> None:
        """All that was sent is there, whatever became of the program."""
        _, curve = self.server.ask("GET", f"/v1/runs/{self.run}/metrics/points?key=loss")
        assert [value for _, _, value in curve["points"]] == [float(one) for one in range(STEPS)]
        _, params = self.server.ask("GET", f"/v1/runs/{self.run}/params")
        assert params["params"]["lr"]["number"] == 0.1


@pytest.fixture
def start(serve: Callable[..., Server]) -> Iterator[Callable[[str], Program]]:
    server = serve(None, MAPI_HEARTBEAT_TIMEOUT="5")
    programs: list[Program] = []

    def begin(name: str) -> Program:
        programs.append(Program(server, name))
        return programs[-1]

    yield begin
    for program in programs:
        with program.process:  # closes its pipes and waits
            program.process.kill()


def test_each_end_of_a_program_has_a_status_of_its_own(start: Callable[[str], Program]) -> None:
    killed, told, failed = start("killed"), start("told"), start("fails")
    killed.process.send_signal(signal.SIGKILL)
    told.process.send_signal(signal.SIGTERM)
    for program, status in ((killed, "lost"), (told, "cancelled"), (failed, "failed")):
        program.wait_for(status)
        program.check_log()
    assert "heartbeat" in killed.facts()["reason"]
    assert told.facts()["reason"] == "signal"
    assert told.process.wait() in {128 + signal.SIGTERM, -signal.SIGTERM}
    assert failed.facts()["reason"] == "ValueError: diverged"
    for program in (killed, told, failed):
        assert program.server.ask("DELETE", f"/v1/runs/{program.run}")[0] == 204


def test_a_frozen_program_is_lost_and_runs_again_when_it_goes_on(
    start: Callable[[str], Program],
) -> None:
    frozen = start("frozen")
    frozen.process.send_signal(signal.SIGSTOP)
    frozen.wait_for("lost")
    frozen.process.send_signal(signal.SIGCONT)
    frozen.wait_for("running")
    frozen.check_log()
    assert frozen.process.stdin is not None
    frozen.process.stdin.close()
    assert frozen.process.wait() == 0
    assert frozen.facts()["status"] == "succeeded"
