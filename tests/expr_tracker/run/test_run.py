"""A run from ``init`` to ``finish``, within one process."""

from __future__ import annotations

import gc
import json
import logging
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import expr_tracker
from expr_tracker.errors import (
    ForkedObjectError,
    NameRefusedError,
    OptionError,
    RunFinishedError,
    StepError,
    StreamInUseError,
    UnknownOptionError,
)
from expr_tracker.history import read_history
from expr_tracker.notices import Notices
from expr_tracker.options import make_options
from expr_tracker.run import run as run_module
from expr_tracker.run.place import Place
from expr_tracker.run.run import Run
from expr_tracker.store.documents import read_document
from expr_tracker.store.journal import read_journal
from expr_tracker.store.lock import is_locked
from expr_tracker.store.reader import whole_rows
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from types import FrameType

PACKAGE = str(Path(expr_tracker.__file__).parent)


class Interrupt(BaseException):
    """What a signal handler raises."""


Make = Callable[..., Run]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Return a maker of runs in one directory; whatever is left open is closed."""

    def open_one(
        *,
        name: str = "n",
        clock: ManualClock | None = None,
        config: dict[str, Any] | None = None,
        **options: Any,
    ) -> Run:
        run = Run(
            Place(tmp_path / "p" / name, tmp_path / "p" / "artifacts", "p", name),
            make_options({"capture": False, **options}),
            config=config or {},
            about={"project": "p", "name": "n", "time": 5.0},
            notices=Notices(),
            clock=clock,
        )
        made.append(run)
        return run

    made: list[Run] = []
    yield open_one
    sys.setprofile(None)
    for run in tuple(run_module.open_runs):
        run.finish(quiet=True)
    for run in made:  # those that ended as their process would have
        run._keeper.stop(5.0)


def rows(run: Run) -> list[dict[str, Any]]:
    return list(whole_rows(run.files.metrics))


def steps(run: Run) -> list[int]:
    return [row["_step"] for row in rows(run) if "_step" in row]


def keepers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("expr-tracker")]


# -- the life of a run -----------------------------------------------------------------------------------


def test_a_run_leaves_its_documents_rows_and_no_lock(make: Make, tmp_path: Path) -> None:
    run = make(config={"lr": 0.1})
    run.log({"a": 1})
    run.log({"b": 2}, step=5)
    run.summary["best"] = 0.5
    run.define_metric("a", unit="ms")
    assert is_locked(run.files.lock)
    run.finish()
    assert not is_locked(run.files.lock)
    assert steps(run) == [0, 5]
    assert rows(run)[-1]["_status"] == "succeeded"
    folder = tmp_path / "p" / "n"
    assert sorted(os.listdir(folder)) == [
        "about.json",
        "config.json",
        "metrics.jsonl",
        "metrics.lock",
        "metrics.meta.json",
        "run.json",
        "summary.json",
    ]
    assert read_document(folder / "config.json") == {"lr": 0.1}
    assert read_document(folder / "summary.json") == {
        "a": 1,
        "b": 2,
        "best": 0.5,
        "_pinned": ["best"],
    }
    about = read_document(folder / "about.json")
    assert about is not None
    assert about["metrics"] == {"a": {"unit": "ms"}}
    assert keepers() == []
    assert run_module.open_runs == set()


def test_the_identity_is_written_once_and_stays(make: Make, tmp_path: Path) -> None:
    first = make()
    first.finish()
    second = make()
    third = make(stream="data")
    assert first.id == second.id == third.id
    assert len(first.id) == 36
    document = read_document(tmp_path / "p" / "n" / "run.json")
    assert document is not None
    assert document["id"] == first.id


def test_config_is_written_when_empty_and_a_different_one_is_pointed_out(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    make().finish()
    assert read_document(Path("p/n/config.json")) == {}
    make(config={"a": 1}).finish()
    assert "another configuration" not in caplog.text
    make(config={"a": 1}).finish()
    assert "another configuration" not in caplog.text
    make(config={"a": 2}).finish()
    assert "another configuration" in caplog.text


def test_finish_twice_is_once(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    run = make()
    run.log({"a": 1})
    with caplog.at_level(logging.INFO, logger="expr_tracker"):
        run.finish()
        run.finish()
        run.finish(1)
    assert sum("stored 1 rows" in text for text in caplog.messages) == 1
    assert next(row for row in rows(run) if "_attempt_end" in row)["_status"] == "succeeded"
    assert len(rows(run)) == 2


def test_many_callers_of_finish_all_return_when_it_is_done(make: Make) -> None:
    run = make()
    run.log({"a": 1}, step=3)
    done: list[bool] = []
    barrier = threading.Barrier(5)

    def finish() -> None:
        barrier.wait(30)
        run.finish(quiet=True)
        done.append(is_locked(run.files.lock))

    threads = [threading.Thread(target=finish) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert done == [False] * 5
    assert steps(run) == [3]


@pytest.mark.parametrize(
    ("exit_code", "status"),
    [(None, "succeeded"), (0, "succeeded"), (1, "failed"), (-9, "failed"), (False, "succeeded")],
)
def test_the_exit_code_decides_the_status(make: Make, exit_code: int | None, status: str) -> None:
    run = make()
    run.finish(exit_code)
    assert rows(run)[-1]["_status"] == status


def test_an_exit_code_that_is_no_number_is_refused_and_the_run_goes_on(make: Make) -> None:
    run = make()
    with pytest.raises(OptionError, match="exit_code='1'"):
        run.finish("1")  # type: ignore[arg-type]
    run.log({"a": 1})
    assert not run.is_finished
    assert steps(run) == [0]


def _raise(error: BaseException | None) -> None:
    if error is not None:
        raise error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (None, "succeeded"),
        (ValueError(), "failed"),
        (KeyboardInterrupt(), "cancelled"),
        (SystemExit(0), "succeeded"),
        (SystemExit(None), "succeeded"),
        (SystemExit(3), "failed"),
        (SystemExit("text"), "failed"),
    ],
    ids=repr,
)
def test_as_a_context_manager_a_run_ends_as_its_block_does(
    make: Make, error: BaseException | None, status: str
) -> None:
    run = make()
    caught: BaseException | None = None
    try:
        with run as entered:
            assert entered is run
            run.log({"a": 1}, step=1)
            _raise(error)
    except BaseException as raised:  # noqa: BLE001 - it comes through
        caught = raised
    assert caught is error
    assert run.is_finished
    assert rows(run)[-1]["_status"] == status
    assert steps(run) == [1]


def test_a_finish_from_a_sink_is_refused_and_the_run_goes_on(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run: Run

    def handle(text: str) -> None:
        run.finish()

    run = make(print_to_screen=True, print_handle=handle)
    run.log({"a": 1})
    run.log({"a": 2})
    assert not run.is_finished
    assert "it would wait for itself" in caplog.text
    run.finish(quiet=True)
    assert steps(run) == [0, 1]


def test_printing_shows_each_committed_row_once(make: Make) -> None:
    shown: list[str] = []
    run = make(print_to_screen=True, print_handle=shown.append, clock=ManualClock(7.0))
    run.log({"a": 1.5})
    run.log({"b": 2}, step=4)
    run.finish(quiet=True)
    assert shown == [
        "{'_step': 0, '_time': 7.0, 'a': 1.5}",
        "{'_step': 4, '_time': 7.0, 'b': 2}",
    ]


def test_a_finished_run_drops_rows_counts_them_and_refuses_the_rest(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    run.finish(quiet=True)
    run.log({"a": 1})
    run.log({"a": 1}, step=2)
    assert sum("after the run had finished" in text for text in caplog.messages) == 1
    assert run.info()["loss"]["dropped"] == {"log calls after finish": 2}
    for call in (
        lambda: run.rewind(1),
        lambda: run.define_metric("a"),
        lambda: run.use_artifact("a"),
    ):
        with pytest.raises(RunFinishedError, match="is finished"):
            call()
    assert steps(run) == []


def test_flush_writes_committed_rows_and_with_commit_the_open_one(make: Make) -> None:
    run = make(durability="buffered", buffer_interval=None)
    run.log({"a": 1})
    run.log({"a": 2})
    run.log({"b": 1}, step=7)
    assert steps(run) == [0]
    run.flush()
    assert steps(run) == [0, 1]
    run.flush(commit_open=True)
    assert steps(run) == [0, 1, 7]
    assert run.step == 8


# -- opening that fails ------------------------------------------------------------------------------------------


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


def test_a_directory_that_cannot_be_written_raises_and_leaves_nothing_open(
    make: Make, tmp_path: Path
) -> None:
    (tmp_path / "p").write_text("a file")
    with pytest.raises(OSError, match="p"):
        make()
    assert keepers() == []
    assert run_module.open_runs == set()


@pytest.mark.parametrize("file", ["config.json", "about.json", "console.jsonl"])
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


# -- an end that fails or is interrupted -----------------------------------------------------------------------------


def test_a_part_that_cannot_be_stopped_costs_neither_rows_nor_the_stream(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    run.log({"a": 1})

    def fail(timeout_seconds: float, status: str) -> None:
        raise RuntimeError("a companion broke")

    monkeypatch.setattr(run.companions, "stop", fail)
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


# -- resuming ------------------------------------------------------------------------------------------------------------


def test_a_resumed_run_goes_on_behind_its_highest_step_in_a_new_attempt(make: Make) -> None:
    first = make()
    for step in (0, 7, 3):
        first.log({"a": step}, step=step, commit=True)
    first.finish(quiet=True)
    second = make()
    assert (first.attempt, second.attempt) == (1, 2)
    assert second.step == 8
    second.log({"a": 8})
    second.finish(quiet=True)
    third = make()
    assert third.attempt == 3
    assert third.step == 9
    markers = [row for row in rows(third) if "_attempt" in row]
    assert [(m["_attempt"], m["_from_step"], m["_pid"]) for m in markers] == [
        (2, None, os.getpid()),
        (3, None, os.getpid()),
    ]
    assert [row["_attempt_end"] for row in rows(third) if "_attempt_end" in row] == [1, 2]


def test_a_run_that_never_logged_a_row_has_an_end_and_a_second_attempt(make: Make) -> None:
    make().finish(quiet=True)
    second = make()
    assert (second.attempt, second.step) == (2, 0)


def test_resuming_at_a_step_supersedes_what_was_there_and_keeps_it_readable(make: Make) -> None:
    first = make()
    for step in range(16):
        first.log({"y": step}, step=step)
    first.finish(quiet=True)
    second = make(resume_step=10)
    assert second.step == 10
    for step in range(10, 30):
        second.log({"y": 100 + step}, step=step)
    second.finish(quiet=True)
    found = {row["_step"]: row["y"] for row in read_history(second.dir, -1)}
    assert sorted(found) == list(range(30))
    assert (found[9], found[10], found[15]) == (9, 110, 115)
    old = {row["_step"]: row["y"] for row in read_history(second.dir, -1, attempt=1)}
    assert old == {step: step for step in range(16)}
    assert second.attempt == 2


def test_resuming_at_a_step_begins_there_also_where_nothing_was_logged_yet(make: Make) -> None:
    run = make(resume_step=100)
    assert run.step == 100
    run.log({"a": 1})
    run.log({"a": 1})
    assert steps(run) == [100, 101]


def test_under_strict_a_resumed_attempt_may_log_its_steps_again(make: Make) -> None:
    first = make(step_policy="strict")
    for step in range(5):
        first.log({"y": step}, step=step)
    first.finish(quiet=True)
    second = make(step_policy="strict", resume_step=2)
    for step in range(2, 6):
        second.log({"y": -step}, step=step)
    second.finish(quiet=True)
    assert steps(second) == [0, 1, 2, 3, 4, 2, 3, 4, 5]


def test_rewinding_a_live_run_begins_an_attempt_at_the_step(make: Make) -> None:
    run = make()
    for step in range(6):
        run.log({"y": step})
    run.log({"y": 6}, step=6)
    run.rewind(3)
    assert (run.attempt, run.step) == (2, 3)
    run.log({"y": 30})
    run.rewind(0)
    assert (run.attempt, run.step) == (3, 0)
    run.log({"y": 300})
    run.finish(quiet=True)
    markers = [row for row in rows(run) if "_attempt" in row]
    assert [(m["_attempt"], m["_from_step"]) for m in markers] == [(2, 3), (3, 0)]
    assert [row["_attempt_end"] for row in rows(run) if "_attempt_end" in row] == [3]
    assert {row["_step"]: row["y"] for row in read_history(run.dir, -1)} == {0: 300}
    for bad in ("3", 2.5, 2**63):
        with pytest.raises((StepError, RunFinishedError)):
            run.rewind(bad)  # type: ignore[arg-type]


def test_a_bad_step_does_not_rewind(make: Make) -> None:
    run = make()
    run.log({"a": 1})
    for bad in ("3", 2.5, 2**63, None):
        with pytest.raises(StepError):
            run.rewind(bad)  # type: ignore[arg-type]
    assert (run.attempt, run.step) == (1, 1)


def test_pins_and_last_values_survive_a_resume(make: Make) -> None:
    first = make()
    first.log({"acc": 0.5, "loss": 2.0})
    first.summary["acc"] = 0.99
    first.finish(quiet=True)
    second = make()
    second.log({"acc": 0.1})
    assert dict(second.summary) == {"acc": 0.99, "loss": 2.0}
    second.finish(quiet=True)
    assert make().info()["summary"] == {"acc": 0.99, "loss": 2.0}


def test_the_time_of_rows_does_not_run_backwards_over_a_resume(make: Make) -> None:
    first = make(clock=ManualClock(1_000.0))
    first.log({"a": 1})
    first.finish(quiet=True)
    second = make(clock=ManualClock(400.0))
    second.log({"a": 2})
    times = [row["_time"] for row in rows(second)]
    assert times == sorted(times)


def test_an_open_row_in_the_journal_is_committed_by_the_next_run(make: Make) -> None:
    clock = ManualClock()
    first = make(clock=clock)
    first.log({"a": 1})
    first.log({"b": float("inf")}, step=5)
    first._upkeep.keep_journal()
    assert not first.files.journal.exists(), "a row younger than a second is not worth a file"
    clock.advance(1.5)
    first._upkeep.keep_journal()
    size = first.files.metrics.stat().st_size
    journal = read_journal(first.files.journal, size)
    assert journal == {"_step": 5, "_time": clock.offset, "b": float("inf")}
    saved = first.files.journal.read_bytes()
    first.finish(quiet=True)
    assert not first.files.journal.exists()
    # What a killed process leaves: its file as it was, and the journal.
    os.truncate(first.files.metrics, size)
    first.files.journal.write_bytes(saved)
    second = make()
    assert not second.files.journal.exists()
    assert steps(second) == [0, 5]
    assert rows(second)[1]["b"] == float("inf")
    assert second.step == 6
    assert second.attempt == 2


def test_a_journal_of_another_size_is_not_used(make: Make) -> None:
    clock = ManualClock()
    first = make(clock=clock)
    first.log({"a": 1}, step=1)
    clock.advance(2)
    first._upkeep.keep_journal()
    saved = first.files.journal.read_bytes()
    first.finish(quiet=True)
    first.files.journal.write_bytes(saved)
    second = make()
    assert steps(second) == [1]


# -- ranks -----------------------------------------------------------------------------------------------------------------


def test_a_rank_has_files_of_its_own_unless_it_shares_the_default_ones(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "2")
    run = make(stream="data")
    assert run.rank == 2
    run.log({"a": 1})
    run.summary["x"] = 1
    run.finish(quiet=True)
    names = set(os.listdir(run.dir))
    assert {
        "metrics.data.rank2.jsonl",
        "summary.data.rank2.json",
        "config.data.rank2.json",
    } <= names
    shared = make(rank_aware=False)
    assert shared.rank == 2
    assert shared.files.metrics.name == "metrics.jsonl"


# -- what a run says of itself ---------------------------------------------------------------------------------------------


def test_info_has_the_keys_that_programs_read(make: Make) -> None:
    run = make(stream="data")
    run.log({"a": 1})
    run.log({"b": 2}, step=5)
    told = run.info()
    assert {
        "log_dir",
        "metrics_file",
        "rows_on_disk",
        "last_step",
        "rows_logged",
        "pending_bytes",
        "span_pending_bytes",
        "dropped_records",
        "dropped_spans",
        "cached_rows",
        "cached_bytes",
        "cache_limit_bytes",
        "disk_prefix",
        "evicted_rows",
        "queries",
        "disk_queries",
    } <= set(told["history"])
    assert {"history", "jsonl", "artifacts", "rank", "summary", "loss"} <= set(told)
    assert told["jsonl"] == {"log_dir": run.dir}
    assert told["artifacts"]["root"].endswith("artifacts")
    assert told["rank"] == 0
    assert told["stream"] == "data"
    assert told["attempt"] == 1
    assert told["summary"] == {"a": 1}
    history = told["history"]
    assert history["metrics_file"] == str(run.files.metrics)
    assert (history["rows_on_disk"], history["rows_logged"], history["last_step"]) == (1, 1, 0)
    assert history["durability"] == "process"
    assert history["write_failure"] is None
    json.dumps(told)


def test_info_counts_what_was_refused_dropped_and_degraded(make: Make) -> None:
    run = make(step_policy="monotonic", max_record_bytes=500)
    run.log({"a": 1}, step=5, commit=True)
    for _ in range(3):
        run.log({"late": 1}, step=1)
    run.log({"big": "x" * 1000})
    run.log({"odd": object(), "_step": 4})
    told = run.info()
    assert told["loss"] == {
        "refused": {"rows over max_record_bytes": 1, "values named _step": 1},
        "dropped": {"values of late below the newest step": 3},
        "degraded": {"values of odd": 1},
    }
    assert told["history"]["dropped_records"] == 5


def test_the_closing_line_gives_the_figures_and_is_a_warning_only_when_something_was_lost(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="expr_tracker")
    first = make()
    first.log({"a": 1})
    first.finish()
    (record,) = [r for r in caplog.records if "pending" in r.getMessage()]
    assert record.levelno == logging.INFO
    assert (
        "p/n (default): stored 1 rows; refused 0, dropped 0, pending 0 bytes"
        in record.getMessage()
    )
    caplog.clear()
    second = make(step_policy="monotonic")
    second.log({"a": 1}, step=5, commit=True)
    second.log({"late": 1}, step=1)
    second.log({"late": 1}, step=1)
    second.log({"_time": 1})
    second.finish(quiet=True)
    (record,) = [r for r in caplog.records if "pending" in r.getMessage()]
    assert record.levelno == logging.WARNING
    assert (
        "refused 1, dropped 2 (1 values named _time, 2 values of late below the newest step)"
        in record.getMessage()
    )


def test_a_quiet_finish_without_loss_says_nothing(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="expr_tracker")
    run = make()
    run.log({"a": 1})
    run.finish(quiet=True)
    assert caplog.messages == []


def test_a_value_that_degrades_is_said_once_a_key(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    for _ in range(3):
        run.log({"odd": object(), "odder": 1j})
    assert sum("'odd' is stored as its repr" in text for text in caplog.messages) == 1
    assert len(caplog.messages) == 2
    assert run.info()["loss"]["degraded"] == {"values of odd": 3, "values of odder": 3}


def test_a_snapshot_does_not_change_with_the_run(make: Make) -> None:
    run = make(durability="buffered", buffer_interval=None)
    run.log({"a": 1})
    run.log({"a": 2})
    run.log({"b": 3}, step=9)
    snapshot = run.snapshot()
    run.log({"c": [4]}, step=9)
    run.log({"d": 5})
    run.flush()
    assert snapshot.index.rows == 1
    assert len(snapshot.pending) == 1
    assert snapshot.open_row is not None
    assert set(snapshot.open_row) == {"_step", "_time", "b"}


def test_the_properties_say_what_init_was_given(make: Make, tmp_path: Path) -> None:
    run = make()
    assert (run.project, run.name, run.stream, run.rank) == ("p", "n", None, 0)
    assert (run.entity, run.notes, run.tags, run.url, run.backends) == (None, None, [], None, {})
    assert run.dir == str(tmp_path / "p" / "n")


def test_spans_end_in_the_open_row_and_the_span_file(make: Make) -> None:
    run = make()
    assert run.spans.finished("a/b", 1.5, {"cpu_time_ms": 2.0}) == 0
    run.spans.append(b'{"_step":0,"name":"a/b"}\n')
    run.log({"x": 1})
    run.finish(quiet=True)
    assert rows(run)[0] == {
        "_step": 0,
        "_time": rows(run)[0]["_time"],
        "time_ms/a/b": 1.5,
        "cpu_time_ms/a/b": 2.0,
        "x": 1,
    }
    assert list(whole_rows(run.files.spans)) == [{"_step": 0, "name": "a/b"}]
    assert not run.spans.is_open


def test_a_span_file_that_cannot_be_opened_costs_the_spans_only(
    make: Make, tmp_path: Path
) -> None:
    run = make()
    run.files.spans.mkdir()
    run.spans.append(b"{}\n")
    run.spans.append(b"{}\n")
    run.log({"a": 1})
    told = run.info()
    assert told["history"]["dropped_spans"] == 2
    assert told["history"]["dropped_records"] == 0
    assert steps(run) == [0]


def test_spans_behind_the_end_are_dropped_and_counted(make: Make) -> None:
    run = make()
    run.spans.append(b'{"n":1}\n')
    run.finish(quiet=True)
    run.spans.append(b'{"n":2}\n')
    assert list(whole_rows(run.files.spans)) == [{"n": 1}]
    assert sum(run.info()["loss"]["dropped"].values()) == 1


# -- the place of a run, signals, forks ----------------------------------------------------------------------------------


def test_a_removed_run_directory_comes_back_with_identity_lock_and_rows(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make(config={"lr": 1})
    run.log({"a": 1})
    run.spans.append(b'{"n":1}\n')
    identity = read_document(run.files.identity)
    shutil.rmtree(run.dir)
    run.log({"a": 2})
    run._upkeep.keep_places()
    assert read_document(run.files.identity) == identity
    assert read_document(run.files.config) == {"lr": 1}
    assert steps(run) == [0, 1]
    assert list(whole_rows(run.files.spans)) == [{"n": 1}]
    assert is_locked(run.files.lock)
    with pytest.raises(StreamInUseError):
        make()


def test_a_second_writer_that_came_over_a_removed_lock_is_reported_once(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    run.files.lock.unlink()
    second = make()
    for _ in range(3):
        run._upkeep.keep_places()
    run.notices.emit()
    assert sum("another process now writes" in text for text in caplog.messages) == 1
    second.finish(quiet=True)


def test_a_checkpoint_keeps_the_open_row_the_waiting_rows_and_the_summary(make: Make) -> None:
    run = make(durability="buffered", buffer_interval=None)
    run.log({"a": 1})
    run.log({"a": 2})
    run.log({"b": 3}, step=9)
    run._checkpoint()
    assert steps(run) == [0, 1]
    assert read_document(run.files.summary) == {"a": 2}
    run.log({"c": 4}, step=9)
    run._checkpoint()
    journal = read_journal(run.files.journal, run.files.metrics.stat().st_size)
    assert journal is not None
    assert (journal["_step"], journal["b"], journal["c"]) == (9, 3, 4)
    run.log({"d": 5})
    run.finish(quiet=True)
    assert steps(run) == [0, 1, 9]


def test_leaving_by_a_signal_writes_everything_first(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(run_module, "end_by_signal", ended.append)
    run = make(durability="buffered", buffer_interval=None)
    run.log({"a": 1})
    run.log({"a": 2})
    run.log({"b": 3}, step=9)
    run._leave_by_signal(15)
    assert ended == [15]
    assert steps(run) == [0, 1, 9]
    assert rows(run)[-1]["_status"] == "cancelled"
    assert read_document(run.files.summary) == {"a": 2, "b": 3}
    assert not is_locked(run.files.lock)


def test_a_signal_leaves_also_while_another_thread_keeps_the_lock(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(run_module, "end_by_signal", ended.append)
    monkeypatch.setattr(run_module, "_SIGNAL_WAIT_SECONDS", 0.05)
    run = make()
    run.log({"a": 1})
    is_held, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        with run._lock:
            is_held.set()
            may_go.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_held.wait(30)
    run._leave_by_signal(15)
    assert ended == [15]
    may_go.set()
    thread.join()
    assert read_document(run.files.summary) == {"a": 1}


def test_a_signal_inside_log_is_carried_out_when_log_is_through(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(run_module, "end_by_signal", ended.append)
    run = make()
    append = run.writer.append_row

    def interrupted(row: dict[str, Any], step: int, is_finite: bool) -> bool:
        run._leave_by_signal(15)
        assert ended == []
        return append(row, step, is_finite)

    run.recorder._append_row = interrupted
    run.log({"a": 1})
    assert ended == [15]
    assert steps(run) == [0]
    assert rows(run)[-1]["_status"] == "cancelled"


def test_the_parents_run_is_useless_in_a_forked_child_and_writes_nothing_there(make: Make) -> None:
    run = make(capture_console=True, durability="buffered", buffer_interval=None)
    summary, history, span_target = run.summary, run.history, run.spans
    run.log({"a": 1})
    run.log({"a": 2})
    span_target.append(b"{}\n")
    size = run.files.metrics.stat().st_size
    with run._lock:  # whatever lock the parent held: none is touched
        run.abandon_in_child()
        for use in (
            lambda: run.log({"a": 3}),
            lambda: run.step,
            lambda: run.summary,
            lambda: summary["a"],
            run.info,
            run.flush,
            lambda: run.rewind(0),
            run.finish,
            lambda: run.define_metric("a"),
            run.snapshot,
            lambda: history.query(5),
            lambda: run.log_artifact("x"),
        ):
            with pytest.raises(ForkedObjectError):
                use()
        run.finish_at_exit()
    run_module.open_runs.discard(run)
    assert run.files.metrics.stat().st_size == size
    assert not run.files.summary.exists()


# -- threads ---------------------------------------------------------------------------------------------------------------


def test_of_many_openings_of_one_stream_exactly_one_wins(make: Make) -> None:
    barrier = threading.Barrier(6)
    opened: list[Run] = []
    refused: list[StreamInUseError] = []

    def open_one() -> None:
        barrier.wait(30)
        try:
            opened.append(make())
        except StreamInUseError as error:
            refused.append(error)

    threads = [threading.Thread(target=open_one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(opened), len(refused)) == (1, 5)


def test_log_and_finish_race_without_losing_a_row_uncounted(make: Make) -> None:
    run = make()
    go = threading.Barrier(4)

    def work() -> None:
        go.wait(30)
        for number in range(300):
            run.log({"a": number} if number % 2 else {"a": str(number)})

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    go.wait(30)
    while run.step < 20:
        pass
    run.finish(quiet=True)
    for thread in threads:
        thread.join(30)
    dropped = run.info()["loss"]["dropped"]
    assert len(steps(run)) + sum(dropped.values()) == 900
    assert rows(run)[-1].get("_attempt_end") == 1, "nothing stands behind the end"
