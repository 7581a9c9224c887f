"""The one run of this process, and the functions that act on it."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import expr_tracker as et
from expr_tracker import own_run
from expr_tracker.errors import (
    ArtifactError,
    ArtifactNotFoundError,
    NameRefusedError,
    NoRunError,
    OptionError,
    RunActiveError,
    StreamInUseError,
    UnknownOptionError,
)
from expr_tracker.notices import logger
from expr_tracker.run import run as run_module
from expr_tracker.store.lock import is_locked
from expr_tracker.store.reader import whole_rows
from expr_tracker.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _no_run_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(own_run, "_has_finished", False)
    yield
    for run in tuple(run_module.open_runs):
        run.finish(quiet=True)
    own_run.run = None


def init(name: str | None = "n", **arguments: Any) -> et.Run:
    return et.init("p", name, **{"capture": False, **arguments})


def steps(run: et.Run) -> list[int]:
    return [row["_step"] for row in whole_rows(run.files.metrics) if "_step" in row]


@pytest.mark.parametrize(
    "call",
    [
        lambda: et.log({"a": 1}),
        et.history,
        et.info,
        et.finish,
        et.summary,
        lambda: et.define_metric("a"),
        lambda: et.rewind(0),
        lambda: et.log_artifact("x"),
        lambda: et.use_artifact("x"),
    ],
    ids=[
        "log",
        "history",
        "info",
        "finish",
        "summary",
        "define_metric",
        "rewind",
        "log_artifact",
        "use_artifact",
    ],
)
def test_without_a_run_a_call_is_refused_with_the_way_out(call: Any) -> None:
    with pytest.raises(NoRunError, match=r"Call et\.init"):
        call()


def test_without_a_run_get_run_is_none_and_spans_only_time() -> None:
    assert et.get_run() is None
    with et.span("a") as span:
        pass
    assert span.duration_ms >= 0
    assert not Path("runs").exists()


def test_the_functions_act_on_the_current_run() -> None:
    run = init(config={"lr": 0.1}, tags="one", notes="text", entity="me")
    assert et.get_run() is run
    et.log({"a": 1})
    et.log({"b": 2}, step=3)
    et.summary()["best"] = 5
    et.define_metric("a", unit="ms")
    assert [row["_step"] for row in et.history()] == [0, 3]
    assert [row["_step"] for row in et.history(include_open=False)] == [0]
    assert et.info()["summary"] == {"a": 1, "best": 5}
    et.rewind(1)
    assert run.step == 1
    et.finish()
    assert et.get_run() is None
    assert (run.tags, run.notes, run.entity, run.config) == (["one"], "text", "me", {"lr": 0.1})
    assert steps(run) == [0, 3]


def test_finish_twice_does_nothing_but_finish_without_a_run_ever_is_refused() -> None:
    with pytest.raises(NoRunError):
        et.finish()
    init()
    et.finish()
    et.finish()
    with pytest.raises(NoRunError):
        et.log({"a": 1})


def test_a_second_init_is_refused_and_the_first_run_goes_on() -> None:
    run = init()
    with pytest.raises(RunActiveError, match="'n' is open"):
        init("other")
    et.log({"a": 1})
    assert et.get_run() is run
    assert not Path("runs/p/other").exists()
    et.finish()
    assert init("other").name == "other"


def test_blocks_of_runs_follow_each_other() -> None:
    for name in ("one", "two"):
        with init(name) as run:
            et.log({"a": 1})
            assert et.get_run() is run
        assert et.get_run() is None
        assert steps(run) == [0]


def test_a_run_that_ended_by_itself_is_no_longer_current() -> None:
    run = init("one")
    run.finish(quiet=True)
    assert et.get_run() is None
    for call in (et.info, et.summary, et.history, lambda: et.rewind(0)):
        with pytest.raises(NoRunError):
            call()
    et.finish()
    second = init("two")
    assert et.get_run() is second
    run.finish()
    assert et.get_run() is second


def test_of_many_inits_at_once_exactly_one_wins() -> None:
    barrier = threading.Barrier(8)
    opened: list[et.Run] = []
    refused: list[RunActiveError] = []

    def work(number: int) -> None:
        barrier.wait(30)
        try:
            opened.append(init(f"n{number}"))
        except RunActiveError as error:
            refused.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(opened), len(refused)) == (1, 7)
    assert et.get_run() is opened[0]
    assert len(list(Path("runs/p").glob("n*"))) == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"step_polcy": "allow"}, UnknownOptionError),
        ({"step_policy": "never"}, OptionError),
        ({"stream": "rank3"}, NameRefusedError),
        ({"name": "../up"}, NameRefusedError),
        ({"dir": "a", "run_dir": "b"}, OptionError),
        ({"backend_kwargs": {"jsonl": {"buffer_size": 0}}}, OptionError),
        ({"resume_step": 1.5}, OptionError),
        ({"clock": 5}, OptionError),
        ({"clock": ManualClock}, OptionError),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_init_that_is_refused_leaves_no_run_and_nothing_on_disk(
    tmp_path: Path, arguments: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        init(**arguments)
    assert et.get_run() is None
    assert list(tmp_path.iterdir()) == []
    run = init()
    et.log({"a": 1})
    assert steps(run) == [0]


def test_an_init_that_fails_on_disk_leaves_no_run(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file, no folder")
    with pytest.raises(OSError, match="runs"):
        init()
    assert et.get_run() is None
    assert init(dir=tmp_path / "other").name == "n"


def test_options_may_come_through_backend_kwargs_and_keywords_win() -> None:
    run = init(backend_kwargs={"jsonl": {"buffer_size": 7, "alert_window": 5}}, buffer_size=9)
    assert (run.options.buffer_size, run.options.alert_window) == (9, 5)


def test_printing_may_be_asked_for_among_the_options_and_the_keyword_wins() -> None:
    options = {"jsonl": {"print_to_screen": True}, "elsewhere": {"mode": "offline"}}
    assert init(backend_kwargs=options).options.print_to_screen
    et.finish(quiet=True)
    assert not init("m", backend_kwargs=options, print_to_screen=False).options.print_to_screen
    et.finish(quiet=True)
    assert not init("o", backend_kwargs={"elsewhere": None}).options.print_to_screen


def test_secrets_in_what_describes_a_run_are_not_written() -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    run = init(notes=f"login with {token}", entity=token, tags=["--depth", "login", "x", token])
    run.define_metric("loss", description=f"see {token}")
    text = run.files.about.read_text()
    assert token not in text
    assert token not in str([run.notes, run.tags, run.entity])
    assert run.tags[:3] == ["--depth", "login", "x"]


def test_printing_is_asked_for_by_name_or_as_an_option() -> None:
    shown: list[str] = []
    init(print_to_screen=True, print_handle=shown.append)
    et.log({"a": 1})
    assert len(shown) == 1


def test_an_init_from_a_log_handler_during_init_is_refused_and_hangs_nothing() -> None:
    refused: list[Exception] = []

    class Eager(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            try:
                init("inner")
            except RunActiveError as error:
                refused.append(error)

    handler = Eager()
    logger.addHandler(handler)
    done = threading.Event()

    def work() -> None:
        init(None)  # says that it made a name
        done.set()

    try:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        assert done.wait(20), "init waits for itself"
        thread.join()
    finally:
        logger.removeHandler(handler)
    assert len(refused) == 1
    run = et.get_run()
    assert run is not None
    assert run.name.startswith("run-")


def test_init_and_finish_from_a_sink_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    def handle(text: str) -> None:
        if "'how': 1" in text:
            et.finish()
        elif "'how': 2" in text:
            init("other")

    run = init(print_to_screen=True, print_handle=handle)
    et.log({"how": 1})
    et.log({"how": 2})
    et.log({"how": 3})
    assert et.get_run() is run
    assert run.info()["loss"]["degraded"] == {"rows that a sink failed on": 2}
    et.finish()
    assert steps(run) == [0, 1, 2]


def test_a_finish_that_raises_still_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = init()
    et.log({"a": 1})

    def fail(*arguments: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(run.spans, "close", fail)
    with pytest.raises(RuntimeError, match="broken"):
        et.finish()
    assert et.get_run() is None
    assert not is_locked(run.files.lock)
    again = init()
    et.log({"a": 2})
    assert steps(again) == [0, 1]


def test_an_interrupted_finish_keeps_the_run_current_and_the_next_one_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = init()
    et.log({"a": 1}, step=1)
    with monkeypatch.context() as patch:

        def interrupt(*arguments: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr(run.spans, "close", interrupt)
        with pytest.raises(KeyboardInterrupt):
            et.finish()
    et.finish()
    assert et.get_run() is None
    assert not is_locked(run.files.lock)
    assert steps(run) == [1]


def test_two_runs_one_after_the_other_in_one_process_are_two_runs() -> None:
    first = init("a")
    et.log({"x": 1})
    et.finish()
    second = init("b")
    et.log({"x": 2})
    et.finish()
    assert steps(first) == steps(second) == [0]
    assert first.id != second.id


def test_a_run_that_someone_else_writes_is_refused_and_can_be_opened_later() -> None:
    first = init()
    own_run.run = None  # as another process would see it
    with pytest.raises(StreamInUseError):
        init()
    assert et.get_run() is None
    first.finish(quiet=True)
    assert init().attempt == 2


def test_in_a_forked_child_calls_drop_with_one_warning_and_init_opens_a_run_of_its_own(
    caplog: pytest.LogCaptureFixture,
) -> None:
    parent = init()
    et.log({"a": 1})
    own_run._after_fork_in_child()  # what the hook does in the child
    assert et.get_run() is None
    for _ in range(3):
        et.log({"a": 2})
    with et.span("s"):
        pass
    et.finish()
    assert sum("forked child" in text for text in caplog.messages) == 1
    for call in (et.info, et.history, et.summary):
        with pytest.raises(NoRunError, match="forked child"):
            call()
    child = init(stream="child")
    et.log({"b": 1})
    assert child.info()["loss"]["dropped"] == {"calls in this forked child before init": 4}
    et.finish()
    assert steps(child) == [0]
    assert steps(parent) == [0]
    parent._keeper.stop(5)


def test_history_reads_other_streams_and_runs_from_disk() -> None:
    init("a")
    et.log({"x": 1})
    et.finish()
    init("b", stream="data")
    et.log({"y": 2})
    assert [row["y"] for row in et.history()] == [2]
    assert [row["y"] for row in et.history(stream="data")] == [2]
    assert [row["x"] for row in et.history(run="runs/p/a")] == [1]
    with pytest.raises(FileNotFoundError):
        et.history(stream=None)


def test_attributes_of_any_name_work() -> None:
    init()
    with et.span("a", name="n", self="s", target="t", plugin="p"):
        pass
    et.log({"x": 1})
    assert "time_ms/a" in et.history()[0]


def test_without_a_rank_history_reads_its_own_of_its_stream_and_the_lowest_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for rank in (0, 1):
        monkeypatch.setenv("RANK", str(rank))
        for stream in ("data", None):
            run = init(stream=stream)
            et.log({"of": rank})
            if rank == 0 or stream is not None:
                run.finish(quiet=True)

    def ranks(**asked: Any) -> list[int]:
        return [row["of"] for row in et.history(-1, **asked)]

    assert ranks() == [1]
    assert ranks(stream="data") == [0]
    assert ranks(stream="data", rank=1) == [1]
    assert ranks(stream=["data"]) == [0, 1]
    assert ranks(stream="data", rank="*") == [0, 1]


def test_history_of_several_streams_has_the_open_row_of_this_process() -> None:
    run = init()
    et.log({"a": 1})
    et.log({"a": 2}, commit=False)
    assert [row["a"] for row in et.history(stream="*")] == [1, 2]
    assert [row["a"] for row in et.history(stream=[None])] == [1, 2]
    assert [row["a"] for row in et.history(stream="*", include_open=False)] == [1]
    run.finish(quiet=True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"alert_on_rank": 1}, "alert_on_rank=1: this version does not evaluate alert rules"),
        ({"alert_on_rank": None}, "alert_on_rank=None"),
        ({"alert_rules": ["loss > 1"]}, "alert rules: this version"),
        ({"alert": {"url": "x"}, "alert_on_rank": 1}, "alert rules: this version"),
        ({"backends": ["wandb"]}, "backends wandb: this version has no such backends, but mapi"),
    ],
    ids=str,
)
def test_what_has_no_effect_in_this_version_is_said_once(
    arguments: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    init(**arguments)
    assert sum("this version" in text for text in caplog.messages) == 1
    assert said in caplog.text


def test_what_is_left_at_its_default_is_not_spoken_of(caplog: pytest.LogCaptureFixture) -> None:
    init(alert_on_rank=0, backend_on_rank=0, backends=["jsonl"])
    assert "this version" not in caplog.text


def test_an_artifact_is_found_by_its_place_without_a_run_and_noted_by_the_next(
    tmp_path: Path,
) -> None:
    (tmp_path / "model.txt").write_text("weights")
    with pytest.raises(ArtifactNotFoundError):
        et.use_artifact("model", where=tmp_path / "runs" / "p")
    first = init("first")
    et.log_artifact("model.txt")
    et.finish()
    found = et.use_artifact("model", where="runs/p")
    assert found.get_path("model.txt").read_text() == "weights"
    assert et.use_artifact("model", "dataset", where=first.dir).version == 0
    with pytest.raises(ArtifactError, match="has type 'dataset'"):
        et.use_artifact("model", "model", where="runs/p")
    second = init("second")
    assert et.use_artifact(found) is found
    et.finish()
    used = [row["action"] for row in whole_rows(second.files.artifacts)]
    assert used == ["use"]


def test_the_name_of_a_span_may_be_given_by_keyword_as_the_baseline_took_it() -> None:
    with et.span(name="epoch", number=1) as span, et.span("batch", name="first") as inner:
        pass
    assert (span.path, span.attributes) == ("epoch", {"number": 1})
    assert (inner.path, inner.attributes) == ("epoch/batch", {"name": "first"})
    begun = et.start_span(name="load")
    begun.end()
    assert begun.path == "load"

    @et.span(name="step")
    def step() -> str:
        return "done"

    assert step() == "done"
    for call in (et.span, et.start_span):
        with pytest.raises(TypeError, match=rf"et\.{call.__name__}\(\) has no name"):
            call(number=1)  # type: ignore[call-overload]
