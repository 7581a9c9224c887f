"""The test run: every depth, and what asks a database once more on the oldest, one honest sum.

A run of pytest is a pass. Passes that keep one processor busy, and nothing in common, run beside each
other; what is about whole programs, which are killed and timed, has the machine for itself.
"""

from __future__ import annotations

import os
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tooling.beside import Program, run_beside
from tooling.environment import run, say
from tooling.services import place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    #: Passes that run one after the other, beside other lanes.
    Lane = list["Pass"]


#: What runs once more on the oldest PostgreSQL.
ASKING_A_DATABASE = tuple(
    f"tests/mapi/{room}" for room in ("database", "tracking", "search", "api")
)

#: By mark, the quickest first.
DEPTHS = ("not acceptance and not browser", "acceptance", "browser")


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


class Pass(NamedTuple):
    """One run of pytest."""

    said: str
    arguments: tuple[str, ...]
    environment: dict[str, str]


def stages_for(rest: Sequence[str]) -> list[list[Lane]]:
    """Return the passes, as stages of lanes; the caller's arguments go to each.

    Args:
        rest: Arguments for pytest.
    """
    if "-m" in rest:
        # A selection by mark is the caller's; running it twice would count each test twice.
        return [[[Pass(f"tests marked '{rest[rest.index('-m') + 1]}'", (), {})]]]
    plain, whole, browser = (Pass(f"tests marked '{one}'", ("-m", one), {}) for one in DEPTHS)
    if rest:
        # One after the other: with the terminal in their hands, as a debugger wants it.
        return [[[plain]], [[whole]], [[browser]]]
    # The others run on the newest PostgreSQL. Without this one's programs they fail.
    oldest = {"MAPI_TEST_PG_BIN": str(place_of("postgres"))}
    asking = Pass("tests that ask a database, on PostgreSQL 15", ASKING_A_DATABASE, oldest)
    return [
        [
            [_within(plain, "tests/mapi")],
            [_without(plain, "tests/mapi"), asking],
        ],
        # They kill and time programs: nothing else is to hold these up.
        [[_within(whole, "tests/acceptance")]],
        [[browser], [_without(whole, "tests/acceptance")]],
    ]


def _within(one: Pass, folder: str) -> Pass:
    return Pass(f"{one.said}, of {folder}", (*one.arguments, folder), one.environment)


def _without(one: Pass, folder: str) -> Pass:
    arguments = (*one.arguments, f"--ignore={folder}")
    return Pass(f"{one.said}, of all but {folder}", arguments, one.environment)


class Result(NamedTuple):
    """What a pass came to."""

    tally: Tally
    failed: list[str]


def result_of(report: Path, code: int) -> Result:
    """Return what a pytest report says."""
    return Result(tally_of(report, code), failed_in(report))


def run_stage(
    command: Sequence[str | Path], stage: Sequence[Lane], *, rest: Sequence[str], folder: Path
) -> list[Result]:
    """Run lanes of passes beside each other, and return what each pass came to.

    Args:
        command: Runs pytest.
        stage: The lanes; a pass that is alone has standard input too.
        rest: More arguments for pytest.
        folder: For files of theirs.
    """
    reports: list[list[Path]] = []
    lanes: list[list[Program]] = []
    for lane in stage:
        reports.append([])
        lanes.append([])
        for one in lane:
            report = folder / f"report{len(reports)}-{len(reports[-1])}.xml"
            report.unlink(missing_ok=True)
            reports[-1].append(report)
            words = [*command, *one.arguments, f"--junitxml={report}", *rest]
            lanes[-1].append(Program(one.said, words, {**os.environ, **one.environment}))
    if [len(lane) for lane in lanes] == [1]:
        (program,) = lanes[0]
        say(program.said)
        codes = [[run(program.command, env=program.environment)]]
    else:
        codes = run_beside(lanes, folder)
    return [
        result_of(report, code)
        for lane, found in zip(reports, codes)  # noqa: B905 - 3.9
        for report, code in zip(lane, found)  # noqa: B905 - 3.9
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
    tally = Tally()
    failed: list[str] = []
    if coverage:
        run([python, "-m", "coverage", "erase"])
    with tempfile.TemporaryDirectory() as folder:
        for stage in stages_for(rest):
            command: list[str | Path] = [python, "-m", *module]
            for result in run_stage(command, stage, rest=rest, folder=Path(folder)):
                tally = tally.plus(result.tally)
                failed += result.failed
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
