"""What users see of a run: names, signatures, help."""

from __future__ import annotations

import inspect
import pydoc
from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.run.run import Run
from expr_tracker.store.reader import whole_rows

if TYPE_CHECKING:
    from tests.expr_tracker.run.conftest import Make


def rows(run: Run) -> list[dict[str, Any]]:
    return [row for row in whole_rows(run.files.metrics) if "_step" in row]


def test_help_shows_what_users_call_and_every_public_member_says_what_it_is() -> None:
    shown = pydoc.plain(pydoc.render_doc(Run))
    for call in ("log(self, data: 'Any', step: 'Any' = None, commit: ", "finish(self, ", "span("):
        assert call in shown
    public = {name for name in dir(Run) if not name.startswith("_")}
    assert public == {
        *("project", "name", "id", "stream", "rank", "backend_run_name", "dir", "files"),
        *("options", "config", "entity", "notes", "tags", "backends", "url"),
        *("attempt", "step", "is_finished", "info"),
        *("log", "define_metric", "span", "start_span", "log_artifact", "use_artifact"),
        *("rewind", "flush", "history", "summary", "artifacts", "finish"),
    }
    for name in public:
        assert getattr(Run, name).__doc__, name


def test_a_call_of_log_is_the_recorders_own_without_a_method_in_between(make: Make) -> None:
    run = make()
    assert run.log == run._stream.recorder.log
    Run.log(run, {"a": 1})  # as a subclass would call it
    assert [row["a"] for row in rows(run)] == [1]
    shown, called = inspect.signature(Run.log), inspect.signature(run.log)
    assert list(shown.parameters.values())[1:] == list(called.parameters.values())


@pytest.mark.parametrize(
    ("stream", "rank", "name"),
    [
        (None, "0", "sft-1"),
        ("data", "0", "sft-1-data"),
        (None, "3", "sft-1-rank3"),
        ("data", "3", "sft-1-data-rank3"),
    ],
)
def test_a_mirror_names_a_run_by_name_stream_and_rank(
    make: Make, monkeypatch: pytest.MonkeyPatch, stream: str | None, rank: str, name: str
) -> None:
    monkeypatch.setenv("RANK", rank)
    assert make(name="sft-1", stream=stream).backend_run_name == name


def test_a_run_times_blocks_for_itself_whichever_run_is_the_current_one(make: Make) -> None:
    run, other = make(), make(name="other")
    with run.span("epoch", number=1):
        inner = run.start_span("batch")
        inner.end()
    run.log({"a": 1})
    assert {"time_ms/epoch", "time_ms/epoch/batch"} <= set(rows(run)[0])
    paths = [row["name"] for row in whole_rows(run.files.spans)]
    assert paths == ["epoch/batch", "epoch"]
    assert not other.files.spans.exists()
    run.finish(quiet=True)
    with run.span("late") as late:
        pass
    assert late.duration_ms > 0
    assert len(list(whole_rows(run.files.spans))) == 2


def test_the_name_of_a_span_may_be_given_by_keyword_as_the_baseline_took_it(make: Make) -> None:
    run = make()
    with run.span(name="epoch", number=1) as span:
        run.start_span(name="batch").end()
    assert span.attributes == {"number": 1}
    assert [row["name"] for row in whole_rows(run.files.spans)] == ["epoch/batch", "epoch"]
    with run.span("epoch", name="first") as span:
        pass
    assert (span.path, span.attributes) == ("epoch", {"name": "first"})
    for call in (run.span, run.start_span):
        with pytest.raises(TypeError, match=rf"run\.{call.__name__}\(\) has no name"):
            call(number=1)  # type: ignore[call-overload]
