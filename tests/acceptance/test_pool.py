"""A pool that ends its workers by SIGTERM is never kept waiting by the tracker in them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.acceptance

PROGRAM = """
import multiprocessing, sys

import expr_tracker as et


def begin(number):
    et.init(project="p", name=f"pool-{sys.argv[2]}", dir=sys.argv[1], stream=f"w-{number}")
    et.log({"x": number})
    return number


if __name__ == "__main__":
    for round in range(10):
        with multiprocessing.get_context(sys.argv[2]).Pool(2) as pool:
            # One task a worker at the most: a second init in it would be refused.
            assert pool.map(begin, [2 * round], chunksize=1) == [2 * round]
    print("done")
"""


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_a_pool_of_workers_that_never_finish_ends_at_once(tmp_path: Path, method: str) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), method],
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    assert "done" in done.stdout
