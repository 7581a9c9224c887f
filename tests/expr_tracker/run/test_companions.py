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
from expr_tracker.run.place import Place
from expr_tracker.run.run import Run
from expr_tracker.store.documents import read_document, write_document
from expr_tracker.store.reader import whole_rows

if TYPE_CHECKING:
    from pathlib import Path

Make = Callable[..., Run]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    def open_one(*, config: dict[str, Any] | None = None, **options: Any) -> Run:
        return Run(
            Place(tmp_path / "p" / "n", tmp_path / "p" / "artifacts", "p", "n"),
            make_options({"capture": False, **options}),
            config=config or {},
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
    run.notices.emit()
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
    def fail(*arguments: object) -> None:
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

    def hang(*arguments: object) -> dict[str, Any]:
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
