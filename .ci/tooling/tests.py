"""The test run: both depths, one honest sum."""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tooling.environment import run, say

if TYPE_CHECKING:
    from collections.abc import Sequence


class Tally(NamedTuple):
    """What a test run came to, counted by test."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def plus(self, other: Tally) -> Tally:
        """Return both runs together."""
        return Tally(*(mine + theirs for mine, theirs in zip(self, other)))  # noqa: B905 - 3.9

    def line(self) -> str:
        """Return the summary as CI reads it."""
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def tally_of(report: Path, code: int) -> Tally:
    """Count a pytest report; a run that broke off counts as one more failure.

    Args:
        report: The JUnit file of the run; may be missing when pytest did not get that far.
        code: pytest's exit code: 0 passed, 1 failed, 5 nothing collected, others broken off.
    """
    tally = Tally()
    if report.exists():
        for case in ET.parse(report).iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                tally = tally.plus(Tally(failed=1))
            elif case.find("skipped") is not None:
                tally = tally.plus(Tally(skipped=1))
            else:
                tally = tally.plus(Tally(passed=1))
    if code not in {0, 5} and tally.failed == 0:
        tally = tally.plus(Tally(failed=1))
    return tally


def failed_in(report: Path) -> list[str]:
    """Return the tests of a pytest report that failed, as pytest takes them."""
    if not report.exists():
        return []
    return [
        f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name', '')}"
        for case in ET.parse(report).iter("testcase")
        if case.find("failure") is not None or case.find("error") is not None
    ]


def run_tests(python: Path, rest: Sequence[str], *, coverage: bool) -> int:
    """Run the tests, the fast ones first, and end with one line that adds them up.

    Args:
        python: The interpreter that has pytest.
        rest: More arguments for pytest.
        coverage: Measure and report it, subprocesses included.

    Returns:
        0 when at least one test passed and none failed.
    """
    module = ["coverage", "run", "-m", "pytest"] if coverage else ["pytest"]
    # A selection by mark is the caller's; running it twice would count each test twice.
    depths = [""] if "-m" in rest else ["not acceptance", "acceptance"]
    tally = Tally()
    failed: list[str] = []
    if coverage:
        run([python, "-m", "coverage", "erase"])
    with tempfile.TemporaryDirectory() as folder:
        for depth in depths:
            say(f"tests marked '{depth or rest[rest.index('-m') + 1]}'")
            report = Path(folder, "report.xml")
            report.unlink(missing_ok=True)
            selection = ["-m", depth] if depth else []
            command: list[str | Path] = [
                python,
                "-m",
                *module,
                *selection,
                f"--junitxml={report}",
                *rest,
            ]
            tally = tally.plus(tally_of(report, run(command)))
            failed += failed_in(report)
    if coverage:
        run([python, "-m", "coverage", "combine", "--quiet"])
        run([python, "-m", "coverage", "report"])
    if tally.passed + tally.failed == 0:
        say("no test was executed, which counts as a failure; check the arguments")
    for test in failed:
        # Once more behind everything: the first depth's failures have scrolled away by now.
        say(f"failed: {test}")
    print(tally.line(), flush=True)
    return 0 if tally.passed and not tally.failed else 1
