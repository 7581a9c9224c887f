"""Whole programs: written to a file, started as a process, watched line by line, ended for sure.

Nothing here sleeps for a time that was guessed: a test waits for a line or a file, and fails with
everything that the program said when a deadline passes.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import queue
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import pytest
from tests.acceptance.platform_servers import serve  # noqa: F401 - pytest finds the fixture here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SOURCE = Path(__file__).resolve().parents[2] / "src"
#: Every wait of these tests is over in a second on an idle machine; CI machines are not idle.
DEADLINE_SECONDS = 40.0
#: Between two looks at something that gives no signal of its own.
LOOK_SECONDS = 0.01


class Program:
    """A program under test.

    Attributes:
        process: the process itself.
        lines: what it has printed so far.
    """

    def __init__(self, command: list[str], environment: Mapping[str, str], folder: Path) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._errors: list[str] = []
        self._arrived: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._readers = [
            threading.Thread(target=self._read_output, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read_output(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            self._arrived.put(line.rstrip("\n"))
        self._arrived.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._errors.append(line)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self.process.pid

    @property
    def errors(self) -> str:
        """What it has written to standard error so far."""
        return "".join(self._errors)

    def line(self, beginning: str = "") -> str:
        """Return what follows ``beginning`` in the next line that begins so; earlier ones are skipped."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            try:
                line = self._arrived.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                self._fail(f"no line {beginning!r} within {DEADLINE_SECONDS} s")
            if line is None:
                self._fail(f"the program ended before a line {beginning!r}")
            if line.startswith(beginning):
                return line[len(beginning) :].strip()

    def value(self, name: str) -> Any:
        """Return the JSON value of the next line ``NAME VALUE``."""
        return json.loads(self.line(name + " "))

    def say(self, text: str = "go") -> None:
        """Write a line to its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def end(self) -> int:
        """Wait for its end and all its output; return the exit status."""
        try:
            status = self.process.wait(DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            self._fail(f"still running after {DEADLINE_SECONDS} s")
        for reader in self._readers:
            # A child of the program's may keep the pipes open; what it says is not waited for.
            reader.join(5)
        return status

    def _fail(self, what: str) -> NoReturn:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGABRT)  # the fault handler prints every stack
            self.process.wait(DEADLINE_SECONDS)
        for reader in self._readers:
            reader.join(1)
        pytest.fail(f"{what}\n--- output\n{self.tail()}\n--- errors\n{self.errors[-8000:]}")

    def tail(self) -> str:
        """Return the last lines it printed."""
        return "\n".join(self.lines[-30:])

    def stop(self) -> None:
        """Kill it and whatever it left behind, and let go of its pipes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(DEADLINE_SECONDS)
        for reader in self._readers:
            reader.join(DEADLINE_SECONDS)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


class Start(Protocol):
    """How tests start programs."""

    def __call__(
        self, script: str, *arguments: object, environment: Mapping[str, str] | None = None
    ) -> Program:
        """Start ``script`` (Python source) with arguments and additional variables."""
        ...


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start programs that are ended with the test, however it ends."""
    programs: list[Program] = []

    def begin(
        script: str, *arguments: object, environment: Mapping[str, str] | None = None
    ) -> Program:
        path = tmp_path / f"program{len(programs)}.py"
        path.write_text(textwrap.dedent(script), encoding="utf-8")
        command = [sys.executable, str(path), *map(str, arguments)]
        program = Program(command, _variables(environment or {}), tmp_path)
        programs.append(program)
        return program

    yield begin
    for program in programs:
        program.stop()


def _variables(additional: Mapping[str, str]) -> dict[str, str]:
    variables = {**os.environ, "PYTHONFAULTHANDLER": "1", "PYTHONUNBUFFERED": "1", **additional}
    if importlib.util.find_spec("expr_tracker") is None:
        variables["PYTHONPATH"] = str(SOURCE)
    return variables


@pytest.fixture
def run_program(start: Start) -> Start:
    """Run a program to its end, which must be a good one."""

    def run(
        script: str, *arguments: object, environment: Mapping[str, str] | None = None
    ) -> Program:
        program = start(script, *arguments, environment=environment)
        status = program.end()
        assert status == 0, f"exit status {status}\n{program.tail()}\n{program.errors}"
        return program

    return run


@pytest.fixture
def strict_lines() -> Callable[[Path], list[dict[str, Any]]]:
    """Read every line of a file the way a strict parser does: bare ``NaN`` and the like fail."""

    def refuse(token: str) -> Any:
        raise AssertionError(f"{token} is not JSON")

    def read(path: Path) -> list[dict[str, Any]]:
        data = path.read_bytes()
        assert not data or data.endswith(b"\n"), f"torn end of {path}: {data[-200:]!r}"
        return [json.loads(line, parse_constant=refuse) for line in data.splitlines()]

    return read


#: Every script below begins so. A child that hangs is ended by the alarm, which its status shows.
FORKING = """
import faulthandler, json, os, signal, sys, threading, time, traceback, warnings
import expr_tracker as et

warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)

def say(name, value=None):
    os.write(1, f"{name} {json.dumps(value)}\\n".encode())

def in_child(work, wait=True):
    pid = os.fork()
    if pid == 0:
        faulthandler.register(signal.SIGALRM, chain=True)
        signal.alarm(15)
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] if wait else pid
"""

#: From `hold` on, a thread of the program stands inside the critical section of the recorder, with
#: every lock that `log` takes: the write that it waits in is ended with the process.
HOLDING_THE_LOCK = """
import os, threading
real_write, parent, inside, is_held = os.write, os.getpid(), threading.Event(), False

def write(fd, data):
    if is_held and os.getpid() == parent and b"held" in data:
        inside.set()
        threading.Event().wait()
    return real_write(fd, data)

os.write = write  # before the library takes it

def hold(log):
    global is_held
    is_held = True
    threading.Thread(target=lambda: log({"held": 1.0}), daemon=True).start()
    assert inside.wait(10)
"""


@pytest.fixture
def forking() -> str:
    """Return what every script about forks begins with."""
    return FORKING


@pytest.fixture
def holding_the_lock() -> str:
    """Return what a script begins with whose thread is to stand inside the recorder."""
    return HOLDING_THE_LOCK
