"""A signal that ends a program ends its runs, whichever way the program deals with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.callers import make_token
from tests.mapi.sdk.asking import BOTH
from tests.mapi.sdk.small_servers import serving_script
from tests.mapi.sdk.test_run import FINE, answering

from mapi.sdk.ending import ENDING_SECONDS, ending_of, limit_of_ending
from mapi.sdk.signals import Terminated
from mapi.wire.enums import RunStatus

if TYPE_CHECKING:
    from tests.mapi.tenants import Tenant

    import mapi

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are what it is about")

WAITS = "print('ready', flush=True); threading.Event().wait(60)"
THREADS = """
import asyncio, os, signal, sys, threading, mapi
{before}
with mapi.Client(sys.argv[1], token=sys.argv[2]) as api:
    with api.runs.create(name='signalled') as run:
        run.log({{'loss': 0.5}}, step=0)
        {body}
print('over', flush=True)
"""
TASKS = """
import asyncio, os, signal, sys, threading, mapi
{before}
async def main():
    async with mapi.AsyncClient(sys.argv[1], token=sys.argv[2]) as api:
        async with await api.runs.create(name='signalled') as run:
            run.log({{'loss': 0.5}}, step=0)
            print('ready', flush=True)
            await asyncio.sleep(60)
asyncio.run(main())
print('over', flush=True)
"""


class Program:
    """A program that logs and waits for a signal."""

    def __init__(
        self, url: str, token: str, text: str, *, before: str = "", body: str = WAITS
    ) -> None:
        program = text.format(before=before, body=body)
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, url, token],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        if (said := self.process.stdout.readline()) != "ready\n":
            self.process.kill()
            raise AssertionError(said, *self.process.communicate())

    def ended_by(self, *numbers: int, seconds_max: float = 60) -> tuple[int, str, str]:
        """Send signals; return the exit code and what was said; who takes longer is killed."""
        for number in numbers:
            self.process.send_signal(number)
        # Not `communicate`: what came with the first line stands in the buffer of this file.
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        limit = threading.Timer(seconds_max, self.process.kill)
        limit.start()
        with self.process, self.process.stdout as said, self.process.stderr as wrong:
            told = said.read(), wrong.read()
        limit.cancel()
        return self.process.returncode, *told


def only_run(api: mapi.Client) -> tuple[RunStatus, str | None, list[float]]:
    (found,) = api.runs.list()
    facts = api.runs.get(found)
    return facts.status, facts.reason, list(api.runs.points(found, "loss").values)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("kind", BOTH)
def test_a_signal_cancels_the_run_and_ends_the_program_as_the_shell_says(
    kind: str, number: int, api: mapi.Client, url: str, tenant: Tenant
) -> None:
    text = THREADS if kind == "threads" else TASKS
    code, said, wrong = Program(url, make_token(tenant), text).ended_by(number)
    assert (code, said) == (128 + number, ""), wrong
    assert "Traceback" not in wrong
    assert only_run(api) == (RunStatus.CANCELLED, "signal", [0.5])


def test_ctrl_c_cancels_the_run(api: mapi.Client, url: str, tenant: Tenant) -> None:
    before = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = Program(url, make_token(tenant), THREADS, before=before)
    code, _, wrong = program.ended_by(signal.SIGINT)
    assert code == -signal.SIGINT
    assert "KeyboardInterrupt" in wrong
    assert only_run(api) == (RunStatus.CANCELLED, "signal", [0.5])


def test_every_open_run_is_cancelled(api: mapi.Client, url: str, tenant: Tenant) -> None:
    body = "with api.runs.create(name='inner'): " + WAITS
    code, _, wrong = Program(url, make_token(tenant), THREADS, body=body).ended_by(signal.SIGTERM)
    assert code == 128 + signal.SIGTERM, wrong
    found = [api.runs.get(one) for one in api.runs.list()]
    assert [one.status for one in found] == [RunStatus.CANCELLED] * 2


def test_a_handler_of_the_program_stays_in_place_and_its_exit_is_a_signal(
    api: mapi.Client, url: str, tenant: Tenant
) -> None:
    before = "signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))"
    program = Program(url, make_token(tenant), THREADS, before=before)
    assert program.ended_by(signal.SIGTERM)[0] == 143
    assert only_run(api) == (RunStatus.CANCELLED, "signal", [0.5])


def test_an_ignored_signal_stays_ignored(api: mapi.Client, url: str, tenant: Tenant) -> None:
    body = (
        "print('ready', flush=True); os.kill(os.getpid(), signal.SIGTERM);"
        " print(signal.getsignal(signal.SIGTERM) is signal.SIG_IGN, flush=True)"
    )
    before = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    program = Program(url, make_token(tenant), THREADS, before=before, body=body)
    assert program.ended_by()[:2] == (0, "True\nover\n")
    assert only_run(api)[0] is RunStatus.SUCCEEDED


def test_behind_the_last_block_the_signal_is_what_it_was(url: str, tenant: Tenant) -> None:
    body = "print('ready', flush=True)"
    after = "print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, flush=True)\n"
    program = Program(url, make_token(tenant), THREADS + after, body=body)
    assert program.ended_by()[:2] == (0, "over\nTrue\n")


def test_a_second_signal_ends_the_program_at_once() -> None:
    asked = threading.Event()

    def hang(connection: Any, server: Any) -> None:
        del connection
        asked.set()
        server.ends.wait(60)

    silent = {"POST metrics": hang, "PATCH run_1": hang}
    with serving_script(answering(FINE | silent)) as server:
        program = Program(server.url, "t", THREADS)
        program.process.send_signal(signal.SIGTERM)
        assert asked.wait(30)
        code, _, _ = program.ended_by(signal.SIGTERM)
        assert code == -signal.SIGTERM


@pytest.mark.parametrize("kind", BOTH)
def test_a_server_that_says_nothing_does_not_hold_the_end_of_a_program(kind: str) -> None:
    asked = threading.Event()

    def hang(connection: Any, server: Any) -> None:
        del connection
        asked.set()
        server.ends.wait(120)

    silent = {"POST metrics": hang, "PATCH run_1": hang, "POST heartbeat": hang}
    # The points are on their way, and hang, before the signal comes.
    before = "import mapi.sdk.synchronous.run as a, mapi.sdk.asynchronous.run as b; "
    before += "a.FLUSH_SECONDS = b.FLUSH_SECONDS = 0.1"
    text = THREADS if kind == "threads" else TASKS
    with serving_script(answering(FINE | silent)) as server:
        program = Program(server.url, "t", text, before=before)
        assert asked.wait(30)
        # Each call alone has 30 seconds.
        code, said, wrong = program.ended_by(signal.SIGTERM, seconds_max=25)
        assert (code, said) == (128 + signal.SIGTERM, ""), wrong
        assert "not all was sent" in wrong
        assert server.asked[-1].method == "PATCH"
        assert json.loads(server.asked[-1].body)["status"] == "cancelled"


def test_all_blocks_that_one_signal_ends_have_one_limit() -> None:
    error = Terminated(143)
    limit = limit_of_ending(error)
    assert limit is not None
    assert 0 < limit.remaining() <= ENDING_SECONDS
    assert limit_of_ending(error) is limit
    assert limit_of_ending(KeyboardInterrupt()) is not limit
    assert [limit_of_ending(one) for one in (None, ValueError(), SystemExit(1))] == [None] * 3


def test_a_run_in_a_thread_leaves_the_signals_alone(url: str, tenant: Tenant) -> None:
    text = (
        "import signal, sys, threading, mapi\n"
        "def work():\n"
        "    with mapi.Client(sys.argv[1], token=sys.argv[2]) as api, api.runs.create():\n"
        "        print('ready', flush=True)\n"
        "        print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, flush=True)\n"
        "thread = threading.Thread(target=work); thread.start(); thread.join()\n"
        "# {before} {body}"
    )
    program = Program(url, make_token(tenant), text, body="-")
    assert program.ended_by()[:2] == (0, "True\n")


def test_a_forked_child_dies_by_the_signal_and_sends_nothing() -> None:
    body = (
        "read, write = os.pipe()\n"
        "        child = os.fork()\n"
        "        if child == 0:\n"
        "            os.write(write, b'.'); threading.Event().wait(60)\n"
        "        os.read(read, 1); os.kill(child, signal.SIGTERM)\n"
        "        print('ready', flush=True); print(os.waitpid(child, 0)[1], flush=True)"
    )
    before = "import warnings; warnings.simplefilter('ignore')"
    with serving_script(answering(FINE)) as server:
        program = Program(server.url, "t", THREADS, before=before, body=body)
        code, said, wrong = program.ended_by()
        assert (code, said) == (0, f"{int(signal.SIGTERM)}\nover\n"), wrong
        assert json.loads(server.asked[-1].body)["status"] == "succeeded"


def test_a_forked_child_that_ends_by_itself_sends_nothing_of_its_parent() -> None:
    body = (
        "child = os.fork()\n"
        "        if child == 0: sys.exit(5)\n"
        "        print('ready', flush=True); print(os.waitpid(child, 0)[1] >> 8, flush=True)"
    )
    before = "import warnings; warnings.simplefilter('ignore')"
    with serving_script(answering(FINE)) as server:
        program = Program(server.url, "t", THREADS, before=before, body=body)
        code, said, wrong = program.ended_by()
        assert (code, said) == (0, "5\nover\n"), wrong
        methods = [f"{one.method} {one.path.rpartition('/')[2]}" for one in server.asked]
    assert methods == ["POST runs", "POST metrics", "PATCH run_1"]


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (Terminated(143), ("cancelled", "signal")),
        (SystemExit(130), ("cancelled", "signal")),
        (SystemExit("text"), ("failed", "the program ended with 'text'")),
        (SystemExit([]), ("failed", "the program ended with []")),
        (SystemExit(1), ("failed", "the program ended with 1")),
    ],
)
def test_an_exit_code_of_a_signal_is_told_from_others(
    error: BaseException, found: tuple[str, str]
) -> None:
    assert ending_of(error) == found
