from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tooling.fuzzing import LEFT_OUT, SUMMARY, failures_of

ROOT = Path(__file__).parents[2]


def test_only_what_tells_of_a_defect_is_a_failure_of_the_server() -> None:
    log = (
        "http://127.0.0.1:1\n"
        '{"level":"warning","message":"Invalid HTTP request received."}\n'
        '{"level":"error","message":"request failed"}\n'
        "Traceback (most recent call last):\n"
        '  File "x.py", line 1\n'
    )
    assert len(failures_of(log)) == 2
    assert failures_of(log)[0].startswith('{"level":"error"')


def test_the_summary_says_what_was_asked_and_what_came_of_it() -> None:
    report = {
        "API Operations:": True,
        "  Selected: 74/81": True,
        "Test cases:": True,
        "  4793 generated, 4793 passed": True,
        "Seed: 7": True,
        "  ✅ Coverage": True,
        "    curl -X GET http://127.0.0.1/": False,
        "💡 Check your schema": False,
    }
    assert {line: SUMMARY.search(line) is not None for line in report} == report


def test_what_is_left_out_is_in_the_description() -> None:
    text = (ROOT / "docs" / "reference" / "openapi.json").read_text(encoding="utf-8")
    for operation in LEFT_OUT:
        assert f'"{operation.partition(" ")[2]}": {{' in text, operation


@pytest.mark.acceptance
@pytest.mark.timeout(300)
def test_a_served_platform_answers_as_it_describes_whatever_it_is_asked() -> None:
    """A minute of it; ``python .ci/tooling/fuzzing.py`` goes on for five, with another seed."""
    program = str(ROOT / ".ci" / "tooling" / "fuzzing.py")
    options = ["--seed=1", "--seconds=60", "--examples=10", "--phases=fuzzing"]
    done = subprocess.run(
        [sys.executable, program, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failures in the server's log" in done.stdout
    assert "✅ Fuzzing" in done.stdout
