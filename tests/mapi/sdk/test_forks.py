"""A child of a fork acts for itself, or is refused: it waits for no thread that it does not have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import Any

import pytest
from tests.mapi.sdk.asking import BOTH
from tests.mapi.sdk.small_servers import says, serving_script
from tests.mapi.sdk.test_events import LOG, status, streams
from tests.mapi.sdk.test_run import FINE, answering
from tests.mapi.sdk.test_transport import COUNTS, FACTS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a fork is what it is about")

THREADS = """
import os, sys, threading, mapi
api = mapi.Client(sys.argv[1], token="t", timeout_seconds=20)
with api.runs.create() as run:
    run.log({"loss": 1}, step=0)
    sending = threading.Thread(target=run.flush)
    lining = threading.Thread(target=run.log_line, args=("of the parent",))
    sending.start(); lining.start()
    sys.stdin.readline()  # both are under way
    child = os.fork()
    if child == 0:
        for act in (run.flush, run.finish, lambda: run.finish("failed"), run.__enter__,
                    lambda: run.log({"loss": 2}, step=1)):
            try: act(); print("done")
            except mapi.MapiError as error: print(type(error).__name__)
        run.log_line("of the child")
        print(api.runs.get(run).id)
    else:
        print("child", os.waitpid(child, 0)[1])
        sending.join(); lining.join()
if child == 0: sys.stdout.flush(); os._exit(0)
"""
TASKS = """
import asyncio, os, sys, mapi
async def in_child(run):
    async def failing(): run.log({"loss": 2}, step=1)
    for act in (run.flush, run.finish, lambda: run.finish("failed"), run.__aenter__, failing):
        try: await act(); print("done")
        except mapi.MapiError as error: print(type(error).__name__)
    async with mapi.AsyncClient(sys.argv[1], token="t", timeout_seconds=20) as api:
        await api.runs.log_line(run, "of the child")
        print((await api.runs.get(run)).id)
async def main():
    async with mapi.AsyncClient(sys.argv[1], token="t", timeout_seconds=20) as api:
        async with await api.runs.create() as run:
            run.log({"loss": 1}, step=0)
            tasks = [asyncio.create_task(one) for one in (run.flush(), run.log_line("of the parent"))]
            await asyncio.to_thread(sys.stdin.readline)  # both are under way
            child = os.fork()
            if child == 0:
                asyncio.events._set_running_loop(None)  # that of the parent
                asyncio.run(in_child(run))
                sys.stdout.flush(); os._exit(0)
            print("child", os.waitpid(child, 0)[1])
            await asyncio.gather(*tasks)
asyncio.run(main())
"""


@pytest.mark.parametrize("kind", BOTH)
def test_a_child_neither_waits_for_what_its_parent_does_nor_ends_its_run(kind: str) -> None:
    child_was_there = threading.Event()
    begun = points_came, line_came = threading.Event(), threading.Event()

    def take_points(connection: Any, server: Any) -> None:
        points_came.set()
        child_was_there.wait(30)
        says(200, COUNTS)(connection, server)

    def tell(connection: Any, server: Any) -> None:
        child_was_there.set()
        says(200, FACTS)(connection, server)

    def take_line(connection: Any, server: Any) -> None:
        if json.loads(server.asked[-1].body)["lines"][0]["message"] == "of the parent":
            line_came.set()
            child_was_there.wait(30)
        says(200, COUNTS)(connection, server)

    steps = {
        "POST metrics": take_points,
        "POST logs": take_line,
        "GET run_1": tell,
    }
    program = THREADS if kind == "threads" else TASKS
    with serving_script(answering(FINE | steps)) as server:
        with subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", program, server.url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                assert all(one.wait(30) for one in begun)
                said, _ = process.communicate("go\n", timeout=30)
            finally:
                process.kill()
                child_was_there.set()
        asked = list(server.asked)
    assert said.split() == ["StateError"] * 5 + ["run_1", "child", "0"]
    assert [one.path for one in asked if one.method == "PATCH"] == ["/v1/runs/run_1"]
    assert json.loads(asked[-1].body)["status"] == "succeeded"
    lines = [json.loads(one.body) for one in asked if one.path.endswith("logs")]
    # The server takes a number of a writer once: as the same writer the child would lose its line.
    assert len({one["writer"] for one in lines}) == 2


def test_a_stream_that_was_open_at_a_fork_goes_on_by_a_connection_of_its_own() -> None:
    program = (
        "import os, sys, mapi\n"
        "api = mapi.Client(sys.argv[1], token='t', timeout_seconds=10)\n"
        "frames = api.runs.events('run_1')\n"
        "next(frames)\n"
        "child = os.fork()\n"
        "found = [type(one).__name__ for one in frames]\n"
        "said = ' '.join(['child' if child == 0 else 'parent', *found])\n"
        "os.write(1, f'{said}\\n'.encode())\n"  # whole, though both may say it at once
        "if child == 0: os._exit(0)\n"
        "os.waitpid(child, 0)\n"
    )
    child_was_there = threading.Event()
    came_meanwhile: list[bool] = []
    rest = LOG + status("succeeded", "4.1")

    def streams_on(connection: Any, server: Any) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        connection.sendall(status("running", "1.0"))
        came_meanwhile.append(child_was_there.wait(30))
        connection.sendall(rest)
        connection.close()

    def tell(connection: Any, server: Any) -> None:
        child_was_there.set()
        streams(rest)(connection, server)

    with serving_script(streams_on, tell) as server:
        said = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program, server.url],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        positions = [one.headers.get("last-event-id") for one in server.asked]
    frames = "LogFrame StatusFrame"
    assert sorted(said.stdout.splitlines()) == [f"child {frames}", f"parent {frames}"]
    assert positions == [None, "1.0"]
    # By a connection of its own: the other one was open, and said nothing yet.
    assert came_meanwhile == [True]
