"""What accompanies a run: documents, the environment, the console; none of it costs a row."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.capture import environment as environment_module
from expr_tracker.notices import Notices
from expr_tracker.options import make_options
from expr_tracker.run import run as run_module
from expr_tracker.run.deadline import Deadline
from expr_tracker.run.place import Place
from expr_tracker.run.run import Run
from expr_tracker.store.documents import read_document, write_document
from expr_tracker.store.lock import is_locked
from expr_tracker.store.reader import whole_rows
from expr_tracker.store.writer import LineWriter
from expr_tracker.system import SystemThread

if TYPE_CHECKING:
    from pathlib import Path

Make = Callable[..., Run]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    def open_one(*, config: dict[str, Any] | None = None, **options: Any) -> Run:
        return Run(
            Place(tmp_path / "p" / "n", tmp_path / "p" / "artifacts", "p", "n"),
            make_options({"capture": False, **options}),
            config=config,
            about={"project": "p", "name": "n", "notes": "text"},
            notices=Notices(),
        )

    yield open_one
    for run in tuple(run_module.open_runs):
        run.finish(quiet=True)


def test_definitions_of_metrics_are_kept_over_a_resume(make: Make) -> None:
    first = make()
    first.define_metric("loss", goal="min")
    first.define_metric(("odd", 1), unit="ms")  # type: ignore[arg-type]
    first.finish(quiet=True)
    second = make()
    second.define_metric("acc", goal="max")
    about = read_document(second.files.about)
    assert about == {
        "project": "p",
        "name": "n",
        "notes": "text",
        "metrics": {"loss": {"goal": "min"}, "('odd', 1)": {"unit": "ms"}, "acc": {"goal": "max"}},
    }


@pytest.mark.parametrize("metrics", [None, 5, [1]])
def test_a_damaged_about_file_is_replaced(make: Make, tmp_path: Path, metrics: object) -> None:
    path = tmp_path / "p" / "n" / "about.json"
    path.parent.mkdir(parents=True)
    write_document(path, {"metrics": metrics})
    run = make()
    run.define_metric("a", unit="s")
    about = read_document(path)
    assert about is not None
    assert about["metrics"] == {"a": {"unit": "s"}}


def test_a_definition_that_cannot_be_written_is_counted_and_raises_nothing(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    run.files.about.unlink()
    run.files.about.mkdir()
    run.define_metric("a", unit="s")
    run._stream.notices.emit()
    assert "could not be written" in caplog.text
    assert run.info()["loss"]["degraded"] == {"metric definitions that could not be written": 1}
    run.files.about.rmdir()


def test_the_environment_is_written_by_the_end_of_the_run(make: Make) -> None:
    run = make(capture=True)
    run.log({"a": 1})
    run.finish(quiet=True)
    environment = read_document(run.files.environment)
    assert environment is not None
    assert "python" in environment
    assert not [t for t in threading.enumerate() if t.name == "expr-tracker-environment"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(28, "No space left on device"), "environments that could not be written"),
        (ValueError("odd host"), "environments that could not be read"),
    ],
    ids=repr,
)
def test_an_environment_that_fails_costs_nothing_else(
    make: Make,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    kind: str,
) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise error

    monkeypatch.setattr(environment_module, "capture_environment", fail)
    run = make(capture=True)
    run.log({"a": 1})
    run.finish(quiet=True)
    assert run.info()["loss"]["degraded"] == {kind: 1}
    assert str(error.args[-1]) in caplog.text
    assert len(list(whole_rows(run.files.metrics))) == 2


def test_an_environment_that_takes_for_ever_is_not_waited_for_longer_than_was_said(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    may_go = threading.Event()

    def hang(*arguments: object, **named: object) -> dict[str, Any]:
        may_go.wait(30)
        return {}

    monkeypatch.setattr(environment_module, "capture_environment", hang)
    run = make(capture=True, finish_timeout=0.05)
    run.finish(quiet=True)
    may_go.set()
    assert "is stuck" in caplog.text
    for thread in threading.enumerate():
        if thread.name == "expr-tracker-environment":
            thread.join(30)


@pytest.mark.parametrize("file", ["console.jsonl", "metrics.system.jsonl", "metrics.system.lock"])
def test_a_companion_that_cannot_begin_costs_the_run_nothing(
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture, file: str
) -> None:
    (tmp_path / "p" / "n" / file / "inside").mkdir(parents=True)
    run = make(capture_console=True, system_metrics=True)
    run.log({"a": 1})
    run.finish(quiet=True)
    assert "goes on without" in caplog.text
    assert run.info()["loss"]["degraded"] == {"parts of the run that could not be started": 1}
    assert len(list(whole_rows(run.files.metrics))) == 2


def test_a_thread_that_cannot_begin_leaves_no_stream_behind(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(SystemThread, "start", fail)
        run = make(system_metrics=True)
    path = run.files.directory / "metrics.system.lock"
    assert not is_locked(path)
    assert run._parts.companions.writers() == []
    run.finish(quiet=True)
    assert run.info()["loss"]["degraded"] == {"parts of the run that could not be started": 1}


def test_every_open_file_is_in_the_keepers_rounds(make: Make) -> None:
    run = make(
        capture_console=True, system_metrics=True, durability="buffered", system_interval=60.0
    )
    assert run._parts.companions._system is not None
    assert run._parts.companions._system.stop(30)  # its first sample must not come between
    run.spans.append(b"{}\n")
    names = [writer.path.name for writer in run._parts.writers()]
    assert names == ["metrics.jsonl", "spans.jsonl", "console.jsonl", "metrics.system.jsonl"]
    for writer in run._parts.writers():
        with writer._lock:
            writer.append_line(b'{"first": 1}\n')
            writer.append_line(b'{"second": 2}\n')
            writer._fail(OSError(28, "No space left on device"))
            writer._retry_at = 0.0
    run._keeper.round()
    for writer in run._parts.writers():
        assert (writer.pending_bytes, writer.failure) == (0, None), writer.path.name
    for writer in run._parts.writers():
        writer.path.unlink()
    (run.files.directory / "metrics.system.lock").unlink()
    run._keeper.round()
    assert all(writer.path.exists() for writer in run._parts.writers())
    assert is_locked(run.files.directory / "metrics.system.lock")
    run.finish(quiet=True)
    assert run._parts.writers()[1:] == [run.spans.writer]


def test_the_parts_of_a_run_share_one_deadline(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds: list[float] = []
    close = LineWriter.close

    def note(self: LineWriter, run: dict[str, Any], timeout_seconds: float | None = None) -> int:
        assert timeout_seconds is not None
        seconds.append(timeout_seconds)
        return close(self, run, timeout_seconds)

    monkeypatch.setattr(LineWriter, "close", note)
    run = make(capture_console=True, system_metrics=True, finish_timeout=8.0)
    run.spans.append(b"{}\n")
    run.finish(quiet=True)
    console, system, rows, spans = seconds
    assert 0 < system <= console <= 4
    assert 0 < rows <= 4
    assert rows < spans <= 8


def test_a_deadline_is_over_some_time_and_never_longer_than_a_lock_can_wait() -> None:
    assert Deadline(0).seconds_left == 0
    assert Deadline(-5).seconds_left == 0
    longest = threading.TIMEOUT_MAX
    assert longest - 60 < Deadline(1e300).seconds_left <= longest
    assert 0 < Deadline(8).half().seconds_left <= 4


def test_words_that_no_reader_of_definitions_knows_are_pointed_out_once_and_kept(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    run.define_metric("loss", summary="last", goal="minimize", unit="s", hidden=False)
    run.define_metric("loss", step_metric="epoch", step_sync=True, description="x", overwrite=True)
    run._stream.notices.emit()
    assert caplog.messages == []
    for _ in range(2):
        run.define_metric("loss", sumary="min", goal="minimise", summary=["last", "mx"], qqq=1)
    run._stream.notices.emit()
    told = [message.split(" It is kept", maxsplit=1)[0] for message in caplog.messages]
    assert [text.removeprefix("define_metric('loss'): ") for text in told] == [
        "sumary is not known. Did you mean 'summary'?",
        "goal='minimise' is not known. Did you mean 'minimize'?",
        "summary='mx' is not known. Did you mean 'max'?",
        "qqq is not known.",
    ]
    about = read_document(run.files.about)
    assert about is not None
    assert about["metrics"]["loss"]["sumary"] == "min"


def test_a_summary_other_than_the_last_value_is_said_to_change_nothing(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    run.define_metric("acc", summary="none")
    for name in ("loss", "other"):
        run.define_metric(name, summary=["last", "min"])
    for loss in (1.0, 2.0):
        run.log({"loss": loss})
    run._stream.notices.emit()
    (told,) = caplog.messages
    assert told.startswith("define_metric('loss'): summary='min' is kept in about.json")
    assert told.endswith("et.summary()['loss/min'] = value.")
    assert run.summary["loss"] == 2.0


def test_the_console_is_kept_beside_the_rows(make: Make) -> None:
    run = make(capture_console=True)
    print("a line of the program")
    run.log({"a": 1})
    run.finish(quiet=True)
    lines = list(whole_rows(run.files.console))
    assert any("a line of the program" in line["text"] for line in lines)
    assert all(line["source"] in {"stdout", "stderr"} for line in lines)


def test_the_machines_figures_are_a_stream_of_their_own(make: Make) -> None:
    run = make(system_metrics=True, system_interval=0.01)
    path = run.files.directory / "metrics.system.jsonl"
    second = make(stream="data", system_metrics=True)
    assert second.stream == "data"
    run.log({"a": 1})
    run.finish(quiet=True)
    second.finish(quiet=True)
    assert next(row for row in whole_rows(run.files.metrics) if "_step" in row)["a"] == 1
    assert path.exists()
