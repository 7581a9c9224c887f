"""Programs that run beside each other: one has the terminal, and what the others say comes whole behind it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

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


def run_beside(programs: Sequence[Program], folder: Path) -> list[int]:
    """Run programs at the root of the project beside each other, and return their exit codes.

    Args:
        programs: The first one writes where this program does.
        folder: For the output of the others until all are done.
    """
    started = time.monotonic()
    logs = [folder / f"output{number}.txt" for number in range(1, len(programs))]
    processes: list[subprocess.Popen[bytes]] = []
    sys.stdout.flush()
    try:
        processes.append(_start(programs[0], None))
        for program, log in zip(programs[1:], logs):  # noqa: B905 - 3.9
            with log.open("wb") as file:
                processes.append(_start(program, file))
        return [process.wait() for process in processes]
    finally:
        end(processes)
        for program, log in zip(programs[1:], logs):  # noqa: B905 - 3.9
            say(f"{program.said} said meanwhile:")
            if log.exists():
                show(log)
        say(f"together they took {time.monotonic() - started:.0f} s")


def _start(program: Program, log: BinaryIO | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(part) for part in program.command],
        cwd=ROOT,
        env=program.environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=None if log is None else subprocess.STDOUT,
    )


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
