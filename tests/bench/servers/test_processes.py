from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from servers.processes import below, busy_seconds, ended, memory_mib, pss_kb, wait_for

if TYPE_CHECKING:
    from pathlib import Path

CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()']); input()"


def started() -> subprocess.Popen[str]:
    """Return a process that has a child and waits."""
    return subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_a_process_that_a_process_started_is_below_it_and_ends_with_it() -> None:
    process = started()
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout, ended(process):
        while len(below(process.pid)) < 2:
            assert process.poll() is None
        assert below(process.pid)[0] == process.pid
        assert set(below(process.pid)) < set(below(os.getpid()))
    assert len(below(process.pid)) == 1
    assert process.poll() is not None


def test_what_a_process_spent_and_holds_is_that_of_this_one() -> None:
    assert busy_seconds(os.getpid()) > 0
    assert memory_mib(os.getpid()) > 1


def test_the_proportional_size_is_read_and_no_other() -> None:
    text = "55d0-7ffd ---p 00000000 00:00 0 [rollup]\nRss:  900 kB\nPss:  123 kB\nPss_Anon: 7 kB\n"
    assert pss_kb(text) == 123
    assert pss_kb("") == 0


def test_a_server_that_ends_before_it_answers_is_told_with_its_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("the port is taken")
    with subprocess.Popen([sys.executable, "-c", ""], text=True) as process:
        process.wait()
        with pytest.raises(RuntimeError, match=r"exit code 0[\s\S]*the port is taken"):
            wait_for("http://127.0.0.1:9/", process, log=log)
