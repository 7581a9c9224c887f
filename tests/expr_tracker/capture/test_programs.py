from __future__ import annotations

import os
import select
import sys
import time
from typing import TYPE_CHECKING

import pytest

from expr_tracker.capture.programs import Answer, ProgramError, ask

if TYPE_CHECKING:
    from pathlib import Path


def run(code: str, *, seconds: float = 30.0, bytes_max: int = 100_000) -> Answer:
    return ask([sys.executable, "-c", code], environ={}, seconds=seconds, bytes_max=bytes_max)


def has_ended(pid: int) -> bool:
    """Wait for a process that was killed; a signal takes the time that a busy machine needs."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 30)[0])
    finally:
        os.close(descriptor)


def test_the_output_is_returned() -> None:
    assert run("print('a'); print('ü')") == Answer("a\nü\n", is_cut=False)


def test_an_output_beyond_the_limit_is_cut_and_the_program_stopped() -> None:
    answer = run("while True: print('x' * 1000)", bytes_max=5000)
    assert answer.is_cut
    assert len(answer.text) == 5000


def test_an_output_of_exactly_the_limit_is_whole() -> None:
    assert run("print('x' * 9)", bytes_max=10) == Answer("x" * 9 + "\n", is_cut=False)


def test_a_failing_program_is_an_error_with_what_it_said() -> None:
    with pytest.raises(ProgramError, match="no such luck"):
        run("import sys; sys.exit('no such luck')")
    with pytest.raises(ProgramError, match="status 3"):
        run("import sys; sys.exit(3)")


def test_a_program_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="cannot be started"):
        ask([str(tmp_path / "none")], environ={}, seconds=1, bytes_max=1)


def test_no_time_starts_no_program(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="no time"):
        run(f"open({str(tmp_path / 'made')!r}, 'w')", seconds=0)
    assert not (tmp_path / "made").exists()


def test_a_program_out_of_time_is_killed_with_its_children(tmp_path: Path) -> None:
    # A shell: it is ready long before its time is up, also on a busy machine.
    command = ["/bin/sh", "-c", 'sleep 600 & echo $$ $! > "$0"; wait', str(tmp_path / "pids")]
    started = time.monotonic()
    with pytest.raises(ProgramError, match="too long"):
        ask(command, environ=dict(os.environ), seconds=2.0, bytes_max=100)
    assert time.monotonic() - started < 60
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    assert all(has_ended(pid) for pid in pids)


def test_a_program_that_closes_its_output_and_stays_is_killed() -> None:
    with pytest.raises(ProgramError, match="too long"):
        run("import os, time; os.close(1); time.sleep(600)", seconds=1.0)
