"""Ask another program something, with a deadline that holds.

The program gets a process group of its own, no terminal and no input; what it prints is read up to
a limit. When its time is over, the limit is reached or anything fails, the whole group is killed
and waited for: nothing that was started here lives on.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from expr_tracker.interruption import is_from_signal, suppress_own

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Answer", "ProgramError", "ask"]

#: What a program says went wrong is one or two sentences.
_ERROR_BYTES_MAX: Final = 2048
_CHUNK_BYTES: Final = 64 * 1024
#: A killed process is gone in milliseconds; one in an uninterruptible wait is given up on.
_REAP_SECONDS: Final = 0.5


class ProgramError(Exception):
    """The program failed, could not be started or ran out of time."""


@dataclass(frozen=True)
class Answer:
    """What a program printed."""

    text: str
    #: Whether there was more than the limit.
    is_cut: bool


def ask(
    command: Sequence[str], *, environ: Mapping[str, str], seconds: float, bytes_max: int
) -> Answer:
    """Run ``command`` and return its standard output.

    Args:
        command: the program's path and its arguments.
        environ: its whole environment.
        seconds: how long it may take.
        bytes_max: how much of its output is read; a program that prints more is stopped there.

    Raises:
        ProgramError: it could not be started, did not end in time, or ended with an error.
    """
    if seconds <= 0:
        raise ProgramError("no time was left")
    try:
        process = subprocess.Popen(  # noqa: S603 - a fixed program, no shell
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        if is_from_signal(error):
            raise
        raise ProgramError(f"cannot be started: {error.strerror}") from None
    assert process.stdout is not None
    assert process.stderr is not None
    output = _Reader(process.stdout, bytes_max + 1)
    error_output = _Reader(process.stderr, _ERROR_BYTES_MAX)
    try:
        return _answer(process, output, error_output, deadline=time.monotonic() + seconds)
    finally:
        _end(process)
        output.wait(_REAP_SECONDS)
        error_output.wait(_REAP_SECONDS)


class _Reader:
    """Reads a pipe to its end or to a limit, and closes it.

    On a thread, which waits for both pipes at once with no loop of ours. It alone closes the pipe:
    closed from outside, its number could become another file's while this one still reads.
    """

    def __init__(self, pipe: IO[bytes], bytes_max: int) -> None:
        self.content = bytearray()
        self._pipe = pipe
        self._bytes_max = bytes_max
        self._thread = threading.Thread(target=self._read, name="expr_tracker.ask", daemon=True)
        self._thread.start()

    @property
    def is_full(self) -> bool:
        """Whether the limit was reached."""
        return len(self.content) >= self._bytes_max

    def text(self, bytes_max: int) -> str:
        """Return the beginning of what was read."""
        return bytes(self.content[:bytes_max]).decode("utf-8", "replace")

    def wait(self, seconds: float) -> bool:
        """Say whether the end or the limit was reached within ``seconds``."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _read(self) -> None:
        with self._pipe:
            while not self.is_full:
                chunk = self._pipe.read(min(_CHUNK_BYTES, self._bytes_max - len(self.content)))
                if not chunk:
                    return
                self.content += chunk


def _answer(
    process: subprocess.Popen[bytes], output: _Reader, error_output: _Reader, *, deadline: float
) -> Answer:
    if not output.wait(max(0.0, deadline - time.monotonic())):
        raise ProgramError("took too long")
    bytes_max = len(output.content)
    if output.is_full:
        return Answer(output.text(bytes_max - 1), is_cut=True)
    try:
        status = process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise ProgramError("took too long") from None
    if status:
        error_output.wait(_REAP_SECONDS)
        said = error_output.text(_ERROR_BYTES_MAX).strip()
        raise ProgramError(said or f"ended with status {status}")
    return Answer(output.text(bytes_max), is_cut=False)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the group of a process that has not ended, and wait for it.

    Only then: the number of one that was waited for may already be another's.
    """
    if process.returncode is not None:
        return
    with suppress_own(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_REAP_SECONDS)
