"""A bar is drawn on a terminal and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

PROGRAM = """
from mapi.cli.transfers import counting
with counting("Compacting") as told:
    if told is None:
        print("no bar")
    else:
        told(5)
        told(3)
"""


def test_a_count_whose_end_nobody_knows_shows_that_it_goes_on() -> None:
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            stdout=subprocess.PIPE,
            stderr=theirs,
            check=True,
            timeout=60,
        )
        drawn = os.read(ours, 65_536).decode()
    finally:
        os.close(theirs)
        os.close(ours)
    assert done.stdout == b""
    assert "Compacting" in drawn
    assert "100%" in drawn


def test_without_a_terminal_nothing_is_drawn() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == (b"no bar\n", b"")
