"""Programs that run beside each other: one lane has the terminal, and what the others say comes whole behind it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from tooling.environment import ROOT, say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

#: How long a program may take to end what it has started before it is told once more, and then killed.
END_SECONDS = 15.0


class Program(NamedTuple):
    """What runs, and what it is called before its output."""

    said: str
    command: Sequence[str | Path]
    environment: Mapping[str, str]


class Lane:
    """Programs that run one after the other, whatever becomes of them."""

    def __init__(self, programs: Sequence[Program], log: Path | None) -> None:
        """Take programs.

        Args:
            programs: In their order.
            log: Where they write to; without one it is where this program does.
        """
        self.codes: list[int] = []
        self._programs = programs
        self._log = log
        self._lock = threading.Lock()
        self._is_over = False
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        """Run all of them at the root of the project."""
        for program in self._programs:
            with self._lock:
                if self._is_over:
                    return
                self._process = self._start(program)
            self.codes.append(self._process.wait())

    def _start(self, program: Program) -> subprocess.Popen[bytes]:
        say(program.said if self._log is None else f"beside it {program.said}")
        command = [str(part) for part in program.command]
        options: dict[str, Any] = {"cwd": ROOT, "env": program.environment}
        if self._log is None:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
        with self._log.open("ab") as file:
            file.write(f"dev: {program.said}\n".encode())
            file.flush()
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, **options
            )

    def stop(self) -> list[subprocess.Popen[bytes]]:
        """Let no other program begin, and return the one that runs, if one does."""
        with self._lock:
            self._is_over = True
            return [] if self._process is None else [self._process]


def run_beside(lanes: Sequence[Sequence[Program]], folder: Path) -> list[list[int]]:
    """Run lanes of programs beside each other, and return the exit codes of each lane.

    Args:
        lanes: The first one writes where this program does.
        folder: For the output of the others until all are done.
    """
    started = time.monotonic()
    logs = [folder / f"output{number}.txt" for number in range(1, len(lanes))]
    first, *others = (
        Lane(lane, log)
        for lane, log in zip(lanes, [None, *logs])  # noqa: B905 - 3.9
    )
    threads = [threading.Thread(target=lane.run) for lane in others]
    sys.stdout.flush()
    try:
        for thread in threads:
            thread.start()
        first.run()
        for thread in threads:
            thread.join()
    finally:
        end([process for lane in (first, *others) for process in lane.stop()])
        for thread in threads:
            thread.join()
        for log in logs:
            if log.exists():
                say("said beside them:")
                show(log)
                log.unlink()
        say(f"together they took {time.monotonic() - started:.0f} s")
    return [lane.codes for lane in (first, *others)]


def end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """See that all have ended. A terminal has told them of Ctrl-C as well, so they have time first."""
    for number in (signal.SIGINT, signal.SIGKILL):
        until = time.monotonic() + END_SECONDS
        for process in processes:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                process.send_signal(number)
    for process in processes:
        process.wait()


def show(log: Path) -> None:
    """Print a file."""
    sys.stdout.flush()
    with log.open("rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.flush()
