"""Ctrl-C while the environment is still being captured on its thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from tests.acceptance.conftest import Start

pytestmark = pytest.mark.acceptance

STARTING = """
    import os, signal, sys
    import expr_tracker as et

    et.init("p", "r", dir=sys.argv[1])

    def console():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt as error:
            sys.last_value = error  # as consoles leave it

    if sys.argv[2] == "caught":
        console()
    else:
        os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.parametrize(
    ("how", "exit_status", "run_status"),
    [("uncaught", -2, "cancelled"), ("caught", 0, "cancelled")],
)
def test_ctrl_c_right_after_init_ends_as_an_interrupt_unless_the_program_caught_it(
    how: str,
    exit_status: int,
    run_status: str,
    start: Start,
    tmp_path: Path,
    strict_lines: Callable[[Path], list[dict[str, Any]]],
) -> None:
    program = start(STARTING, tmp_path, how)
    assert program.end() == exit_status, program.errors
    assert strict_lines(tmp_path / "p" / "r" / "metrics.jsonl")[-1]["_status"] == run_status
    assert (tmp_path / "p" / "r" / "environment.json").exists()
