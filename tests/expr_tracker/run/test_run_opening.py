"""Openings and ends that fail or are interrupted: nothing stays behind."""

from __future__ import annotations

import gc
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import expr_tracker
from expr_tracker.errors import (
    NameRefusedError,
    OptionError,
    StreamInUseError,
    UnknownOptionError,
)
from expr_tracker.run import run as run_module
from expr_tracker.store.documents import read_document
from expr_tracker.store.lock import is_locked
from expr_tracker.store.reader import whole_rows
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from types import FrameType

    from tests.expr_tracker.run.conftest import Make

    from expr_tracker.run.run import Run

PACKAGE = str(Path(expr_tracker.__file__).parent)


class Interrupt(BaseException):
    """What a signal handler raises."""


def rows(run: Run) -> list[dict[str, Any]]:
    return list(whole_rows(run.files.metrics))


def steps(run: Run) -> list[int]:
    return [row["_step"] for row in rows(run) if "_step" in row]


def keepers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("expr-tracker")]


# -- opening that fails -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"stream": "rank1"}, NameRefusedError),
        ({"stream": "a b"}, NameRefusedError),
        ({"step_policy": "x"}, OptionError),
        ({"bufer_size": 1}, UnknownOptionError),
    ],
)
def test_bad_arguments_create_nothing(
    make: Make, tmp_path: Path, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        make(**options)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"backend_kwargs": {"jsonl": None}},
        {"backend_kwargs": {"jsonl": 3}},
        {"backend_kwargs": {"jsonl": {3: 1}}},
        {"backend_kwargs": ["jsonl"]},
        {"backend_kwargs": "jsonl"},
        {"tags": 3},
        {"tags": b"ab"},
        {"tags": {"a": 1}},
    ],
    ids=repr,
)
def test_an_argument_of_a_wrong_kind_is_refused_with_value_and_rule(
    arguments: dict[str, Any],
) -> None:
    with pytest.raises(OptionError, match="expected") as refusal:
        expr_tracker.init("p", "n", capture=False, **arguments)
    (value,) = arguments.values()
    shown = value["jsonl"] if isinstance(value, dict) and "jsonl" in value else value
    assert repr(shown) in str(refusal.value)
    assert not Path("runs").exists()


def test_a_stream_in_use_is_refused_and_the_way_out_works(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first = make()
    with pytest.raises(StreamInUseError, match=str(os.getpid())):
        make()
    other = make(stream="data")
    monkeypatch.setenv("ET_STREAM_IN_USE", "new")
    second = make()
    third = make()
    fourth = make(stream="data")
    assert [run.stream for run in (second, third, fourth)] == ["default-2", "default-3", "data-2"]
    assert "this one writes 'default-2'" in caplog.text
    first.log({"a": 1})
    second.log({"a": 2})
    assert [row["a"] for row in rows(first)] == [1]
    assert [row["a"] for row in rows(second)] == [2]
    assert other.stream == "data"


def test_a_stream_of_another_letter_case_is_refused(make: Make) -> None:
    make(stream="Data").finish(quiet=True)
    with pytest.raises(NameRefusedError, match="letter case"):
        make(stream="data")


def test_the_systems_stream_is_left_out_beside_a_stream_of_the_same_letters(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make(stream="System", system_metrics=True)
    run.log({"a": 1})
    run.finish(quiet=True)
    assert not (run.files.directory / "metrics.system.jsonl").exists()
    assert "letter case" in caplog.text
    make(stream="System").finish(quiet=True)


def test_a_directory_that_cannot_be_written_raises_and_leaves_nothing_open(
    make: Make, tmp_path: Path
) -> None:
    (tmp_path / "p").write_text("a file")
    with pytest.raises(OSError, match="p"):
        make()
    assert keepers() == []
    assert run_module.open_runs == set()


@pytest.mark.parametrize("file", ["config.json", "about.json"])
def test_an_opening_that_fails_half_way_leaves_no_lock_thread_or_run(
    make: Make, tmp_path: Path, file: str
) -> None:
    (tmp_path / "p" / "n" / file).mkdir(parents=True)
    (tmp_path / "p" / "n" / file / "inside").touch()
    with pytest.raises(OSError):  # noqa: PT011 - each platform words it its own way
        make(capture_console=True)
    assert keepers() == []
    assert run_module.open_runs == set()
    assert not is_locked(tmp_path / "p" / "n" / "metrics.lock")
    (tmp_path / "p" / "n" / file / "inside").unlink()
    (tmp_path / "p" / "n" / file).rmdir()
    run = make()
    run.log({"a": 1})
    assert steps(run) == [0]


def test_an_opening_that_is_interrupted_anywhere_leaves_no_lock_thread_or_run(
    make: Make, tmp_path: Path
) -> None:
    make(clock=ManualClock()).finish(quiet=True)  # loads what the first run loads
    for point in range(1, 3_000):
        name = f"n{point}"
        lock = tmp_path / "p" / name / "metrics.lock"
        seen = 0

        def profile(frame: FrameType, event: str, argument: Any, point: int = point) -> None:
            nonlocal seen
            if event in {"call", "c_return"} and frame.f_code.co_filename.startswith(PACKAGE):
                seen += 1
                if seen == point:
                    sys.setprofile(None)
                    raise Interrupt

        run = None
        gc.disable()  # or the end of an older run would be what is interrupted
        sys.setprofile(profile)
        try:
            run = make(name=name, clock=ManualClock())
        except Interrupt:
            pass
        finally:
            sys.setprofile(None)
            gc.enable()
        if run is not None:
            run.finish(quiet=True)
            break
        if is_locked(lock):
            gc.collect()
        assert not is_locked(lock), point
        assert run_module.open_runs == set(), point
        for thread in keepers():
            thread.join(5)
        assert keepers() == [], point
        run = make(name=name, clock=ManualClock())
        run.log({"a": 1})
        assert steps(run) == [0]
        run.finish(quiet=True)
    assert point > 50


# -- an end that fails or is interrupted --------------------------------------------------------------


def test_a_part_that_cannot_be_stopped_costs_neither_rows_nor_the_stream(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    run.log({"a": 1})

    def fail(timeout_seconds: float, status: str) -> None:
        raise RuntimeError("a companion broke")

    monkeypatch.setattr(run._parts.companions, "stop", fail)
    run.finish()
    assert "a companion broke" in caplog.text
    assert rows(run)[-1]["_status"] == "succeeded"
    assert not is_locked(run.files.lock)
    assert run_module.open_runs == set()
    assert keepers() == []
    again = make()
    again.log({"a": 2})
    assert steps(again) == [0, 1]


def test_a_finish_that_is_interrupted_anywhere_can_be_repeated(make: Make) -> None:
    rounds = 0
    for point in range(1, 3_000):
        run = make(
            name=f"n{point}", clock=ManualClock(), durability="buffered", buffer_interval=None
        )
        run.log({"a": 1})
        run.log({"a": 2})
        run.log({"b": 3}, step=2)
        seen = 0

        def profile(frame: FrameType, event: str, argument: Any, point: int = point) -> None:
            nonlocal seen
            if event in {"call", "c_return"} and frame.f_code.co_filename.startswith(PACKAGE):
                seen += 1
                if seen == point:
                    sys.setprofile(None)
                    raise Interrupt

        gc.disable()
        sys.setprofile(profile)
        try:
            run.finish(quiet=True)
        except Interrupt:
            pass
        finally:
            sys.setprofile(None)
            gc.enable()
        run.finish(quiet=True)
        rounds += 1
        assert run.is_finished
        assert not is_locked(run.files.lock), point
        assert run_module.open_runs == set(), point
        assert steps(run) == [0, 1, 2], point
        ends = [row for row in rows(run) if "_attempt_end" in row]
        assert ends[-1]["_attempt_end"] == run.attempt
        summary = read_document(run.files.summary)
        assert summary is not None
        assert summary["b"] == 3
        if seen < point:
            break
    assert rounds > 50


@pytest.mark.parametrize("damaged", [b"", b'{"id": "0f'])
def test_a_damaged_identity_is_replaced_said_and_counted_once(
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture, damaged: bytes
) -> None:
    make().finish(quiet=True)
    identity = tmp_path / "p" / "n" / "run.json"
    identity.write_bytes(damaged)
    second = make()
    assert second.info()["loss"]["degraded"] == {"damaged run.json files": 1}
    (said,) = [text for text in caplog.messages if "run.json" in text]
    assert second.id in said
    second.finish(quiet=True)
    third = make()
    assert third.id == second.id == (read_document(identity) or {})["id"]
    assert third.info()["loss"]["degraded"] == {}
    assert len([text for text in caplog.messages if "run.json" in text]) == 1
