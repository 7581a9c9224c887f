"""What callers may pass where metrics are chosen by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from expr_tracker.errors import QueryError, QuestionTypeError
from expr_tracker.history import check_logged, export, overviews, read_history, verify
from expr_tracker.metric_names import metric_names
from expr_tracker.trace import build_trace, write_trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("a", ("a",)),
        (["b", "a", "b"], ("b", "a")),
        ({"b", "a"}, ("a", "b")),
        ((name for name in ("b", "a")), ("b", "a")),
        ((), ()),
    ],
)
def test_names_are_a_text_or_several_each_once(given: Any, names: tuple[str, ...]) -> None:
    assert metric_names(given) == names


@pytest.mark.parametrize("given", [5, 1.5, True, b"loss", object(), [1], [None], {"a": 1}])
def test_every_call_that_takes_metrics_refuses_what_is_no_name_and_says_the_rule(
    given: Any, tmp_path: Path
) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"_step":0,"a":1}\n')
    calls: list[Callable[[], object]] = [
        lambda: build_trace(tmp_path, metrics=given),
        lambda: write_trace(tmp_path, tmp_path / "trace.json", metrics=given),
        lambda: read_history(tmp_path, metrics=given),
        lambda: overviews(tmp_path, given),
        lambda: check_logged(tmp_path, given),
    ]
    for call in calls:
        with pytest.raises(QuestionTypeError, match=r"(metrics|names)(=| has )"):
            call()
    assert not (tmp_path / "trace.json").exists()


def test_a_progress_that_cannot_be_called_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"_step":0,"a":1}\n')
    wrong: Any = 5
    for call in (
        lambda: export(tmp_path, tmp_path / "out.csv", progress=wrong),
        lambda: verify(tmp_path, progress=wrong),
    ):
        with pytest.raises(QueryError, match=r"progress=5 \(int\): expected a function"):
            call()
    assert not (tmp_path / "out.csv").exists()
