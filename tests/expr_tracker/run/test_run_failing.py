"""A run whose program fails and still calls ``finish``: in ``finally``, in ``except``, in a task."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import pickle
import weakref
from typing import TYPE_CHECKING

import pytest

from expr_tracker.store.reader import whole_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.expr_tracker.run.conftest import Make

    from expr_tracker.run.run import Run

ENDS = [
    (ValueError("x"), "failed"),
    (KeyboardInterrupt(), "cancelled"),
    (asyncio.CancelledError(), "cancelled"),
    (SystemExit(2), "failed"),
    (SystemExit("text"), "failed"),
    (SystemExit(0), "succeeded"),
    (SystemExit(None), "succeeded"),
    (GeneratorExit(), "succeeded"),
]


def status(run: Run) -> str:
    return str(list(whole_rows(run.files.metrics))[-1]["_status"])


def fail(error: BaseException) -> None:
    raise error


def fail_and_finish(run: Run, error: BaseException, exit_code: int | None = None) -> None:
    try:
        raise error
    finally:
        run.finish(exit_code)


@pytest.mark.parametrize(("error", "expected"), ENDS, ids=repr)
@pytest.mark.parametrize("place", ["finally", "except", "with"])
def test_a_run_ends_as_the_exception_says_that_its_end_stands_in(
    make: Make, error: BaseException, expected: str, place: str
) -> None:
    run = make()
    with contextlib.suppress(BaseException):
        if place == "with":
            with run:
                fail(error)
        elif place == "except":
            try:
                fail(error)
            except BaseException:
                run.finish()
                raise
        else:
            fail_and_finish(run, error)
    assert status(run) == expected


@pytest.mark.parametrize(("exit_code", "expected"), [(0, "succeeded"), (1, "failed")])
def test_an_exit_code_wins_over_the_exception(
    make: Make, exit_code: int, expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    with pytest.raises(KeyboardInterrupt):
        fail_and_finish(run, KeyboardInterrupt(), exit_code)
    assert status(run) == expected
    assert "in flight" not in caplog.text


def test_the_closing_line_names_the_exception_and_the_way_to_say_otherwise(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    with pytest.raises(ZeroDivisionError):
        fail_and_finish(run, ZeroDivisionError("secret"))
    (record,) = [record for record in caplog.records if "stored" in record.message]
    assert record.levelno == logging.WARNING
    assert "failed, by the ZeroDivisionError in flight" in record.message
    assert "finish(exit_code=0) says otherwise" in record.message
    assert "secret" not in caplog.text


def test_a_quiet_finish_stays_quiet_about_the_exception(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    with contextlib.suppress(ValueError):
        try:
            fail(ValueError())
        finally:
            run.finish(quiet=True)
    assert status(run) == "failed"
    assert "in flight" not in caplog.text


def test_an_exception_that_was_handled_before_the_end_is_over(make: Make) -> None:
    run = make()
    with contextlib.suppress(ValueError):
        fail(ValueError())
    run.finish()
    assert status(run) == "succeeded"


def test_the_end_of_an_iterator_is_no_failure(make: Make) -> None:
    run = make()
    batches: Iterator[int] = iter(())
    try:
        next(batches)
    except StopIteration:
        run.finish()
    assert status(run) == "succeeded"


def test_a_run_that_begins_where_an_earlier_failure_is_handled_ends_by_its_own(
    make: Make,
) -> None:
    ends = {}
    failure = MemoryError("too large a batch")
    try:
        raise failure
    except MemoryError:
        again = make(name="again")
        again.finish()
        ends["again"] = status(again)
        failing = make(name="failing")
        with contextlib.suppress(ValueError):
            fail_and_finish(failing, ValueError())
        ends["failing"] = status(failing)
    assert ends == {"again": "succeeded", "failing": "failed"}
    assert isinstance(pickle.loads(pickle.dumps(failure)), MemoryError)


def test_a_run_does_not_hold_on_to_the_failure_that_it_began_in(make: Make) -> None:
    class Large:
        pass

    def allocate() -> weakref.ref[Large]:
        large = Large()
        try:
            fail(MemoryError())
        except MemoryError:
            make()
        return weakref.ref(large)

    found = allocate()
    gc.collect()
    assert found() is None


def test_a_failing_task_that_ctrl_c_did_not_end_is_failed(make: Make) -> None:
    run = make()

    async def train() -> None:
        try:
            raise TimeoutError
        finally:
            run.finish()

    with pytest.raises(TimeoutError):
        asyncio.run(train())
    assert status(run) == "failed"


def test_a_summary_that_cannot_be_written_is_warned_about_once(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    run.files.summary.unlink(missing_ok=True)
    (run.files.summary / "in the way").mkdir(parents=True)
    run.summary["best"] = 1
    run._parts.save_unsaved_summary()  # as the background thread does, sooner or later
    run.finish(quiet=True)
    assert caplog.text.count("summary.json could not be written") == 1
