"""A run from ``init`` to ``finish``, within one process."""

from __future__ import annotations

import json
import logging
import os
import threading
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.errors import (
    OptionError,
    RunFinishedError,
    StreamInUseError,
)
from expr_tracker.run import run as run_module
from expr_tracker.store.documents import read_document
from expr_tracker.store.lock import is_locked
from expr_tracker.store.reader import whole_rows
from expr_tracker.store.summary_document import read_summary
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from tests.expr_tracker.run.conftest import Make

    from expr_tracker.run.run import Run


def rows(run: Run) -> list[dict[str, Any]]:
    return list(whole_rows(run.files.metrics))


def steps(run: Run) -> list[int]:
    return [row["_step"] for row in rows(run) if "_step" in row]


def keepers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("expr-tracker")]


# -- the life of a run --------------------------------------------------------------------------------


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
    assert read_summary(folder / "summary.json").values == {
        "a": 1,
        "b": 2,
        "best": 0.5,
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
    assert sum("stored 1 row;" in text for text in caplog.messages) == 1
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


def test_a_print_handle_that_fails_is_named_by_its_option(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make(print_to_screen=True, print_handle=lambda text: text.no_such_thing)
    run.log({"a": 1})
    run.finish(quiet=True)
    assert "print_handle failed on a row: AttributeError" in caplog.text
    assert "lambda" not in caplog.text


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
    assert steps(run) == []
    run.flush()
    assert steps(run) == [0, 1]
    run.flush(commit_open=True)
    assert steps(run) == [0, 1, 7]
    assert run.step == 8


# -- ranks --------------------------------------------------------------------------------------------


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


# -- what a run says of itself ------------------------------------------------------------------------


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
        run.log({"late": 1, "later": 2}, step=1)
    run.log({"big": "x" * 1000})
    run.log({"odd": object(), "_step": 4})
    told = run.info()
    assert told["loss"] == {
        "refused": {"rows over max_record_bytes": 1, "values under the reserved name _step": 1},
        "dropped": {
            "values of late below the newest step": 3,
            "values of later below the newest step": 3,
        },
        "rescued": {},
        "degraded": {"values of odd": 1},
    }
    assert told["history"]["dropped_records"] == 4, "rows, however many values they had"


def test_losses_are_of_spans_by_what_they_are_not_by_their_words(make: Make) -> None:
    run = make(step_policy="monotonic", max_record_bytes=200)
    run.log({"a": 1}, step=5, commit=True)
    run.log({"makespan": 1}, step=1)
    run.spans.append(b"x" * 300 + b"\n")
    run.spans.count_dropped("attributes")
    history = run.info()["history"]
    assert (history["dropped_records"], history["dropped_spans"]) == (1, 2)


def test_the_closing_line_names_the_ten_biggest_losses_and_counts_the_others(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    for number in range(1, 13):
        run._stream.notices.count("dropped", f"kind {number}", number)
    run.finish()
    assert "(kind 12: 12, kind 11: 11, " in caplog.text
    assert ", kind 3: 3, and 2 more kinds in info()['loss'])" in caplog.text
    assert "kind 1: 1," not in caplog.text


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
        "p/n (default): stored 1 row; refused 0, dropped 0, pending 0 bytes" in record.getMessage()
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
        "refused 1, dropped 2 (values under the reserved name _time: 1, values of late below the newest "
        "step: 2)" in record.getMessage()
    )


def test_the_closing_line_counts_what_was_stored_in_another_form(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    for _ in range(3):
        run.log({"odd": object()})
    run.finish()
    (record,) = [r for r in caplog.records if "pending" in r.getMessage()]
    assert record.levelno == logging.WARNING
    assert (
        "stored 3 rows; refused 0, dropped 0, degraded 3 (values of odd: 3), pending 0 bytes"
        in record.getMessage()
    )


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([0.5] * 100_001, "'x': a list of 100001 elements is stored as statistics; the limit "),
        (Decimal("0.12345678901234567890123"), "'x': 0.12345678901234567890123 has more digits "),
        (object(), "'x': stored as its repr: object has no JSON form"),
        (1 << 20_000, "'x': stored as text: no program reads an int of more than 4300 digits"),
        ("\ud800", "'x': text with half a surrogate pair, which no file can hold: "),
    ],
    ids=["list", "Decimal", "object", "int", "text"],
)
def test_a_warning_of_a_value_is_a_name_and_a_sentence(
    make: Make, caplog: pytest.LogCaptureFixture, value: object, sentence: str
) -> None:
    make().log({"x": value})
    (said,) = caplog.messages
    assert said.startswith(sentence)


def test_a_quiet_finish_without_loss_says_nothing(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="expr_tracker")
    run = make()
    run.log({"a": 1})
    caplog.clear()
    run.finish(quiet=True)
    assert caplog.messages == []


def test_opening_says_where_the_run_goes_and_what_it_continues(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="expr_tracker")
    run = make()
    assert "is logged to p/n." in caplog.text  # seen from here
    run.log({"a": 1})
    run.finish()
    caplog.clear()
    make()
    assert "is logged to p/n: attempt 2, next step 1." in caplog.text


def test_a_pin_is_on_disk_before_the_run_ends(make: Make) -> None:
    run = make()
    assert read_summary(run.files.summary).values == {}
    run.summary["best"] = 1
    run._parts.save_unsaved_summary()
    stored = read_summary(run.files.summary)
    assert (stored.values, stored.pins) == ({"best": 1}, frozenset({"best"}))


def test_a_value_that_degrades_is_said_once_a_key(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    for _ in range(3):
        run.log({"odd": object(), "odder": 1j})
    assert sum("'odd': stored as its repr" in text for text in caplog.messages) == 1
    assert len(caplog.messages) == 2
    assert run.info()["loss"]["degraded"] == {"values of odd": 3, "values of odder": 3}


def test_a_snapshot_does_not_change_with_the_run(make: Make) -> None:
    run = make(durability="buffered", buffer_interval=None)
    run.log({"a": 1})
    run.flush()
    run.log({"a": 2})
    run.log({"b": 3}, step=9)
    snapshot = run._stream.snapshot()
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
