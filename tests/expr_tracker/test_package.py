"""The package as a program meets it: its names, and where it runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import expr_tracker


def test_every_public_name_can_be_had_and_is_listed() -> None:
    for name in expr_tracker.__all__:
        assert getattr(expr_tracker, name) is not None
        assert name in dir(expr_tracker)


@pytest.mark.parametrize("name", ["errors", "options", "plugins", "trace"])
def test_a_module_that_the_package_hands_out_is_public(name: str) -> None:
    assert name in expr_tracker.__all__
    assert getattr(expr_tracker, name).__name__ == f"expr_tracker.{name}"


def test_a_system_without_file_locks_is_refused_with_a_way_out() -> None:
    program = "import os, pathlib; os.name = 'nt'; import expr_tracker"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "ImportError: expr_tracker runs on Linux and macOS" in done.stderr
    assert "WSL" in done.stderr
